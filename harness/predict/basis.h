// Basis of a prediction, as records keep it, and predictions that are made again from it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/predict/codec_profile.h"
#include "harness/predict/prediction.h"
#include "reports/record/record.h"

namespace thinpipe {

/// `prediction.basis` of docs/records.md: the codec's times and what it sends, compute and ready
/// times, how buckets follow each other, and cores; all but link and pattern.
nlohmann::json basis_json(const CodecProfile& codec, const PredictionInput& input);

/// One point of a run, predicted again with the models of today.
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
