// Replays a trace through a compressor without a network and measures the decoded values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "harness/files/open_trace.h"
#include "harness/quality/tally.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct OfflineOptions {
  std::size_t ranks = 0;  ///< number of ranks, from the trace's first on; 0: all
  std::size_t steps = 0;  ///< 0: all recorded steps; after the last the first is used again
  std::size_t steps_per_epoch = 0;  ///< for warm-up schedules; 0: all steps are of epoch 0
  std::uint64_t seed = 1;
  int threads = 1;  ///< of one encode or decode
  BadValues bad_values = BadValues::kRefuse;
  std::filesystem::path dump;  ///< folder for decoded values and residuals; "" for none
};

struct TensorQuality {
  TensorInfo info;
  QualitySummary summary;
  std::vector<QualitySample> samples;  ///< of every rank's exchanged steps
};

struct CompressorQuality {
  Spec spec;               ///< as requested
  std::string compressor;  ///< with every parameter
  std::uint64_t period = 1;
  bool incremental = false;  ///< see Compressor::incremental; then there is no drift and no overlap
  QualitySummary total;      ///< of all tensors together
  std::vector<TensorQuality> tensors;
};

/// Replays every step's gradients in order through every rank's compressors, which accumulate
/// between exchanges and share their scale where the method does. Decodes every payload.
/// @param advance  called from time to time with the elements compressed since the last call
/// @throws InputError for a bad spec, or for gradients with values that are not finite where
/// bad_values refuses these; RunError if the compressor fails, or decodes to a value that is not
/// finite.
CompressorQuality replay_offline(const Trace& trace, const Spec& spec,
                                 const OfflineOptions& options,
                                 const std::function<void(std::size_t)>& advance = {});

/// Returns how many of the n elements that are not 0 in `decoded` are among the n greatest
/// magnitudes of c. Elements whose magnitude equals the n-th greatest all count. `work` is a
/// workspace.
std::size_t overlap_with_top_k(std::span<const float> c, std::span<const float> decoded,
                               std::vector<float>& work);

/// Quality of a step with an exchange.
struct StepQuality {
  std::size_t step = 0;    ///< counted from 0, with steps that only accumulate
  QualitySummary summary;  ///< of this step alone, except for the drift, which is since step 0
};

/// Returns the quality over these tensors and all ranks, in the order of the steps.
std::vector<StepQuality> quality_by_step(std::span<const TensorQuality> tensors);

/// Makes the folder for OfflineOptions::dump. @throws InputError when it exists and is not empty.
void make_dump_folder(const std::filesystem::path& folder);

}  // namespace thinpipe
