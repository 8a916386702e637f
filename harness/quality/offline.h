// Replays a trace through a compressor without a network and looks at what is decoded.
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
  std::size_t ranks = 0;  ///< the first so many of the trace; 0: all
  std::size_t steps = 0;  ///< 0: as many as were recorded; after the last comes the first again
  std::size_t steps_per_epoch = 0;  ///< for warm-up schedules; 0: all steps are of epoch 0
  std::uint64_t seed = 1;
  int threads = 1;  ///< that one encode or decode may use
  BadValues bad_values = BadValues::kRefuse;
  std::filesystem::path dump;  ///< folder for what is decoded and carried ; "" for none
};

struct TensorQuality {
  TensorInfo info;
  QualitySummary summary;
  std::vector<QualitySample> samples;  ///< of every rank's exchanged steps
};

struct CompressorQuality {
  Spec spec;               ///< as asked for
  std::string compressor;  ///< with every parameter
  std::uint64_t period = 1;
  bool incremental = false;  ///< see Compressor::incremental; then there is no drift and no overlap
  QualitySummary total;      ///< of all tensors taken together
  std::vector<TensorQuality> tensors;
};

/// Every rank's compressors see every step's gradients in order, hold between the exchanges of a
/// longer period, and share their scale where the method does. Every payload is decoded.
/// @param advance  called now and then with the elements compressed since the last call
/// @throws InputError for a bad spec, or for gradients that are not finite and may not be.
CompressorQuality replay_offline(const Trace& trace, const Spec& spec,
                                 const OfflineOptions& options,
                                 const std::function<void(std::size_t)>& advance = {});

/// How many of the elements that are not 0 in `decoded` have one of the so many greatest magnitudes
/// of c; equal magnitudes all count. `work` is scratch space.
std::size_t overlap_with_top_k(std::span<const float> c, std::span<const float> decoded,
                               std::vector<float>& work);

/// A step in which payloads were exchanged; counted from 0, those that only hold included.
struct StepQuality {
  std::size_t step = 0;
  QualitySummary summary;  ///< of that step alone, but for the drift, which is since the first
};

/// Quality over all tensors and ranks, in the order of the steps.
std::vector<StepQuality> quality_by_step(const CompressorQuality& quality);
/// Quality of one tensor, over the ranks.
std::vector<StepQuality> quality_by_step(const TensorQuality& tensor);

/// Makes the folder for OfflineOptions::dump. @throws InputError when it exists and holds anything.
void make_dump_folder(const std::filesystem::path& folder);

}  // namespace thinpipe
