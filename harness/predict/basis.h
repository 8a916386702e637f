// What a prediction was made from, as records keep it: enough to make it again when models change.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/predict/codec_profile.h"
#include "harness/predict/prediction.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// `prediction.basis` of docs/records.md: the codec's times and what it sends, compute and ready
/// times, how buckets follow each other, and cores; all but link and pattern.
nlohmann::json basis_json(const CodecProfile& codec, const PredictionInput& input);

struct PredictionBasis {
  CodecProfile codec;
  PredictionInput input;  ///< without ranks, pattern and link
};

/// @throws InputError naming the field that is missing, of a wrong type or out of range.
PredictionBasis basis_from(const JsonField& field);

}  // namespace thinpipe
