// The models' part of `thinpipe list`.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "workloads/models/catalogue.h"

namespace thinpipe {

/// Name, size and source. @param in_full  also published counts, times and every layer
nlohmann::ordered_json model_json(const ModelInfo& model, bool in_full);

/// A line or two for every model.
std::string table_of_models();

/// One model with its published counts, its times and its layers.
std::string model_text(const ModelInfo& model);

/// Whether `name` is a model, or so near to one that it is meant to be one.
bool names_a_model(const std::string& name);

}  // namespace thinpipe
