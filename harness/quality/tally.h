// Quality of a compressor on a tensor, or on all tensors, over many steps and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compressors/compressor.h"
#include "reports/statistics/statistics.h"

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

}  // namespace thinpipe
