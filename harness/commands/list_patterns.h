// The exchange patterns, as `thinpipe list` shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace thinpipe {

/// A line each.
std::string table_of_patterns();
/// With what each can do and its parameters.
std::string patterns_in_full();
nlohmann::ordered_json patterns_json();

}  // namespace thinpipe
