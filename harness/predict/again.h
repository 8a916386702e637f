// Predictions made again from finished records, with the models of today.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/prediction.h"
#include "reports/record/record.h"

namespace thinpipe {

/// One point of a run.
struct PredictedAgain {
  Axes axes;
  Status status = Status::kOk;
  std::optional<double> measured;  ///< s, the median step
  std::optional<double> recorded;  ///< s that was predicted when it ran
  std::optional<Prediction> prediction;
  std::string refusal;                  ///< why there is none
  std::optional<double> ratio() const;  ///< predicted over measured
};

/// From the `basis` and the `link` of each point's recorded prediction.
/// @throws InputError where they are not as records should have them.
std::vector<PredictedAgain> predict_again(const Records& records);

/// A row each, and how many of those that are `ok` are within 10 %.
std::string again_table(const std::vector<PredictedAgain>& points);
nlohmann::ordered_json again_json(const std::vector<PredictedAgain>& points);

}  // namespace thinpipe
