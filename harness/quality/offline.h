// Replays a trace through a compressor without a network and measures the decoded values: the
// quality on a tensor, or on all tensors, over many steps and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "harness/files/open_trace.h"
#include "reports/statistics/statistics.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// One rank's step: of one tensor, or summed over tensors.
struct QualitySample {
  std::size_t rank = 0, step = 0;
  bool exchanged = true;  ///< false: only accumulated; then all figures except the drift are 0
  std::size_t elements = 0;
  std::size_t encoded_bytes = 0;
  std::size_t selected = 0, target = 0;  ///< k-hat and k; 0 where the method has no target
  Distortion distortion;
  double decoded_squares = 0;     ///< |decoded|^2
  std::size_t overlap_of = 0;     ///< sent elements compared with the top-k; 0: not compared
  std::size_t overlap = 0;        ///< those among the overlap_of largest |c|
  double passes_by_elements = 0;  ///< passes times elements
  double seconds = 0;             ///< of encode
  /// Since the first step: |sum inputs - sum decoded|^2 and |sum inputs|^2; 0 and 0 for methods
  /// that have no drift.
  double drift_difference = 0, drift_inputs = 0;

  QualitySample& operator+=(const QualitySample& other);
};

struct Distribution {
  std::size_t samples = 0;
  double mean = 0, p5 = 0, p50 = 0, p95 = 0, max = 0;
};

/// A value for each exchanged step of each rank, in the order of the replay; NaN where undefined.
struct QualitySeries {
  std::vector<double> step, rank;     ///< of each value
  std::vector<double> estimation;     ///< k-hat / k of every tensor, so several for each step
  std::vector<double> quality;        ///< k-hat / k, each summed over the tensors
  std::vector<double> bytes;          ///< of the payloads
  std::vector<double> error, cosine;  ///< |decoded - c| / |c|; cosine of decoded and c
  std::vector<double> overlap;        ///< fraction of the sent elements among the true top-k
  std::vector<double> drift;          ///< |sum inputs - sum decoded| / |sum inputs| up to this step
  std::vector<double> passes;         ///< over the d elements
  std::vector<double> encode;         ///< s
};

struct QualitySummary {
  std::size_t elements = 0;                ///< of one step of one rank
  std::uint64_t encoded_bytes = 0;         ///< in all steps of all ranks
  double bits_per_element = 0;             ///< mean over all steps, with those without an exchange
  double compression_ratio = 0;            ///< 32 / bits_per_element
  std::optional<Distribution> estimation;  ///< k-hat / k; none where the method has no target
  /// SIDCo's estimation quality: a step's selected elements (k-hat) over its requested elements
  /// (k), of all tensors and ranks together. This is the mean over steps, with its 90 % interval.
  std::optional<MeanInterval> quality;
  std::optional<double> error_mean, error_last;    ///< |decoded - c| / |c|
  std::optional<double> cosine_mean, cosine_last;  ///< of decoded and c
  std::optional<double> drift;    ///< |sum inputs - sum decoded| / |sum inputs|, mean over ranks
  std::optional<double> overlap;  ///< fraction of the sent elements among the true top-k
  double passes = 0;              ///< over the d elements, mean
  double nanoseconds_per_element = 0;  ///< of encode, median over steps and ranks
  QualitySeries series;
};

class Tally {
 public:
  void add(const QualitySample& sample);
  /// Adds k-hat / k of one tensor in one step.
  void add_estimation(const QualitySample& sample);
  QualitySummary summary() const;

 private:
  std::size_t elements_ = 0;
  std::size_t steps_ = 0;  ///< times ranks
  std::uint64_t bytes_ = 0;
  std::size_t overlap_of_ = 0, overlap_ = 0;
  double passes_by_elements_ = 0;
  std::size_t exchanged_elements_ = 0;
  std::vector<double> nanoseconds_;
  struct Sent {
    double selected = 0, target = 0;
  };
  std::map<std::size_t, Sent> sent_;                              ///< by step
  std::vector<double> last_errors_, last_cosines_, last_drifts_;  ///< by rank
  QualitySeries series_;
};

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

/// Returns the number of ranks that replay_offline() holds in memory at the same time: all where
/// ranks share a scale, otherwise one. @throws InputError where it would refuse spec or trace;
/// RunError where a plug-in fails.
std::size_t ranks_at_once(const Trace& trace, const Spec& spec, const OfflineOptions& options);

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
