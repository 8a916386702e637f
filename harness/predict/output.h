// Predictions for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/break_even.h"
#include "harness/predict/predictor.h"

namespace thinpipe {

/// One row.
struct PredictedPoint {
  SweepPoint point;
  std::optional<Prediction> prediction;  ///< none: Predictor::refusal() says why
  std::optional<double> baseline;        ///< s of the uncompressed step beside it
  std::optional<double> speed_up() const;
};

/// One compressor's break-even rate, on links that differ in nothing else.
struct PredictedCrossing {
  SweepPoint point;  ///< on any of the links
  PredictedBreakEven result;
};

/// The setting in which a compressor breaks even: pattern, feed, the link without its rate,
/// topology, schedule and stragglers, as `ring, delay=10ms, local_steps=8`.
std::string apart_from_rate(const SweepPoint& point, const TopologySpec& topology);

/// "below 1.2 Gbit/s", "at every rate", "at no rate", "above 10 Gbit/s only".
std::string crossing_text(const PredictedBreakEven& result);

/// At most 80 columns wide.
std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology);
/// A table for each setting.
std::string crossing_table(const std::vector<PredictedCrossing>& crossings,
                           const TopologySpec& topology);

/// Which compressor, pattern and feed should take the shortest step between the most ranks at the
/// lowest rate and at the highest one: a sentence for each network with that rate.
std::string prediction_sentences(const std::vector<PredictedPoint>& points);

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        Predictor& predictor, const SweepOptions& options);

}  // namespace thinpipe
