// Predictions for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/predictor.h"

namespace thinpipe {

/// A step beside those of the baselines.
struct PredictedStep {
  Prediction prediction;
  std::optional<double> bf16, none;  ///< s of the baselines' steps, of those that are asked for
  std::optional<double> over_bf16() const { return over(bf16); }
  std::optional<double> over_none() const { return over(none); }
  /// Over the faster of them.
  std::optional<double> speed_up() const;

 private:
  std::optional<double> over(const std::optional<double>& baseline) const;
};

/// One row.
struct PredictedPoint {
  SweepPoint point;
  bool is_baseline = false;
  std::optional<PredictedStep> step;  ///< none: Predictor::refusal() says why
  /// With codecs at the pace of a GPU's memory, where compute times are a GPU's and codecs were
  /// timed on a processor.
  std::optional<PredictedStep> at_memory_pace;
};

/// One compressor's break-even rate, on links that differ in nothing else.
struct PredictedCrossing {
  SweepPoint point;  ///< on any of the links
  PredictedBreakEven result;
  std::optional<PredictedBreakEven> over_none;  ///< where there is another baseline beside it
  std::optional<PredictedBreakEven> at_memory_pace;
};

/// Where compute times and codec times come from, for a person to read.
struct PredictedOrigin {
  std::string compute;                  ///< "estimated for an NVIDIA V100-SXM2: half of ..."
  std::string codecs;                   ///< "one core of AMD EPYC 7B13, measured now on the trace"
  std::optional<ComputeDevice> device;  ///< that at_memory_pace is of
};

/// The setting in which a compressor breaks even: pattern, feed, the link without its rate,
/// topology, schedule and stragglers, as `ring, delay=10ms, local_steps=8`.
std::string apart_from_rate(const SweepPoint& point, const TopologySpec& topology);

/// At most 80 columns wide.
std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology);
/// A table for each setting.
std::string crossing_table(const std::vector<PredictedCrossing>& crossings,
                           const TopologySpec& topology);

/// A sentence, or two where there is a device.
std::string origin_text(const PredictedOrigin& origin);

/// Which compressor, pattern and feed should take the shortest step between the most ranks at the
/// lowest rate and at the highest one: a sentence for each network with that rate.
std::string prediction_sentences(const std::vector<PredictedPoint>& points);

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        const PredictedOrigin& origin, Predictor& predictor,
                                        const SweepOptions& options);

}  // namespace thinpipe
