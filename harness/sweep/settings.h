// Settings that the points of one folder share: options that change figures and are no axis.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/sweep/options.h"
#include "reports/record/record.h"

namespace thinpipe {

/// The header's `settings` (docs/records.md): options by name, `-` written `_`.
nlohmann::json settings_of(const SweepOptions& options);

/// Figures that stand in one file are drawn together.
/// @throws InputError naming the options that the records were measured with, and those of now
void check_same_settings(const Records& existing, const SweepOptions& options,
                         const nlohmann::json& settings);

}  // namespace thinpipe
