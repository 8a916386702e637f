// The parameters of a compressor or a pattern, as `thinpipe list` shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compressors/registry.h"

namespace thinpipe {

nlohmann::ordered_json parameter_json(const ParameterInfo& parameter);

/// Of each: name, default, help and range, a line or more.
std::string parameter_lines(const std::vector<ParameterInfo>& wanted);

}  // namespace thinpipe
