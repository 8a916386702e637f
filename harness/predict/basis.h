// The basis of a prediction, as stored in records, and predictions repeated from it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/codec_profile.h"
#include "harness/predict/prediction.h"
#include "reports/record/record.h"

namespace thinpipe {

/// Returns the `prediction.basis` of docs/records.md: all inputs of a prediction except the link
/// and the collective. It has codec times and payload sizes, compute and ready times, the order of
/// buckets, and cores.
nlohmann::json basis_json(const CodecProfile& codec, const PredictionInput& input);

/// One point of a run, predicted again with the present models.
struct PredictedAgain {
  Axes axes;
  Status status = Status::kOk;
  std::optional<double> measured;  ///< s, the median step
  std::optional<double> recorded;  ///< s, the prediction during the run
  std::optional<Prediction> prediction;
  std::string refusal;                  ///< reason why there is no prediction
  std::optional<double> ratio() const;  ///< predicted over measured
};

/// Predicts each point again, from the `basis` and the `link` of its recorded prediction.
/// @throws InputError naming a field of `basis` or `link` that is missing or wrong.
std::vector<PredictedAgain> predict_again(const Records& records);

/// Returns a table with a row for each point, and the number of `ok` points within 10 %.
std::string again_table(const std::vector<PredictedAgain>& points);
nlohmann::ordered_json again_json(const std::vector<PredictedAgain>& points);

}  // namespace thinpipe
