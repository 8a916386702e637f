// Reads a model's data file; docs/models.md describes the format.
#pragma once

#include <string>
#include <string_view>

#include "workloads/models/catalogue.h"

namespace thinpipe {

/// @param file  names the text in messages.
/// @throws InputError naming file and field for anything missing, unknown or inconsistent.
ModelInfo parse_model_file(std::string_view text, const std::string& file);

}  // namespace thinpipe
