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

/// One compressor's rate, on links that differ in nothing else.
struct PredictedCrossing {
  CompressorRules compressor = Spec{};
  Spec pattern;
  Feed feed;
  int ranks = 0;
  LinkSpec link;  ///< any of them
  PredictedBreakEven result;
};

/// "below 1.2 Gbit/s", "at every rate", "at no rate", "above 10 Gbit/s only".
std::string crossing_text(const PredictedBreakEven& result);

/// At most 80 columns wide.
std::string prediction_table(const std::vector<PredictedPoint>& points, const Predictor& predictor,
                             const TopologySpec& topology);
std::string crossing_table(const std::vector<PredictedCrossing>& crossings);

/// At most three sentences: who should be fastest at the lowest rate and at the highest one, for the
/// most ranks.
std::string prediction_sentences(const std::vector<PredictedPoint>& points);

nlohmann::ordered_json predictions_json(const std::vector<PredictedPoint>& points,
                                        const std::vector<PredictedCrossing>& crossings,
                                        Predictor& predictor, const SweepOptions& options);

}  // namespace thinpipe
