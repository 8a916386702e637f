// Predictions for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/predictor.h"

namespace thinpipe {

/// A step, and those of the baselines.
struct PredictedStep {
  Prediction prediction;
  std::optional<double> bf16, none;  ///< s of the requested baselines' steps
  std::optional<double> over_bf16() const { return over(bf16); }
  std::optional<double> over_none() const { return over(none); }
  /// Returns the speed-up over the faster baseline.
  std::optional<double> speed_up() const;

 private:
  std::optional<double> over(const std::optional<double>& baseline) const;
};

/// Returns "2.4 times as fast as bf16 and 4.4 times as fast as none (fp32)".
std::string speed_up_text(const PredictedStep& step);

/// One row of the table.
struct PredictedPoint {
  SweepPoint point;
  bool is_baseline = false;
  std::optional<PredictedStep> step;  ///< none: Predictor::refusal() has the reason
  /// The step as predicted with codecs that are bound by a GPU's memory bandwidth. Only where
  /// compute times are a GPU's and codecs were timed on a CPU.
  std::optional<PredictedStep> at_memory_pace;
};

/// One compressor's break-even rate, on links that differ only in their rate.
struct PredictedCrossing {
  SweepPoint point;  ///< on any of the links
  PredictedBreakEven result;
  std::optional<PredictedBreakEven> over_none;  ///< if there is another baseline
  std::optional<PredictedBreakEven> at_memory_pace;
};

/// Sources of compute times and codec times, for people.
struct PredictedOrigin {
  std::string compute;                  ///< "estimated for an NVIDIA V100-SXM2: half of ..."
  std::string codecs;                   ///< "one core of AMD EPYC 7B13, measured now on the trace"
  std::optional<ComputeDevice> device;  ///< GPU of at_memory_pace
};

/// Returns the settings to which a break-even rate applies: collective, bucketing, the link without
/// its rate, topology, schedule and stragglers, such as `ring, delay=10ms, local_steps=8`.
std::string apart_from_rate(const SweepPoint& point, const TopologySpec& topology);

/// Returns the table of steps, at most 80 columns wide.
std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology);
/// Returns a table of break-even rates for each setting.
std::string crossing_table(const std::vector<PredictedCrossing>& crossings,
                           const TopologySpec& topology);

/// Returns the sources of the times as sentences.
std::string origin_text(const PredictedOrigin& origin);

/// Returns the compressor, collective and bucketing with the shortest step between the most ranks,
/// at the lowest and at the highest rate: a sentence for each network with that rate.
std::string prediction_sentences(const std::vector<PredictedPoint>& points);

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        const PredictedOrigin& origin, Predictor& predictor,
                                        const SweepOptions& options);

}  // namespace thinpipe
