// What a prediction was made from, as records keep it: enough to make it again when models change.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/predict/codec_profile.h"
#include "harness/predict/prediction.h"

namespace thinpipe {

/// `prediction.basis` of docs/records.md: the codec's times and what it sends, compute and ready
/// times, how buckets follow each other, and cores; all but link and pattern.
nlohmann::json basis_json(const CodecProfile& codec, const PredictionInput& input);

struct PredictionBasis {
  CodecProfile codec;
  PredictionInput input;  ///< without ranks, pattern and link
};

/// @throws InputError naming what is missing or of a wrong type.
PredictionBasis basis_from(const nlohmann::json& json);

}  // namespace thinpipe
