// `--time-scale F`, of the verbs that run ranks and that report them.
#pragma once

#include <string>
#include <vector>

#include "harness/options/option.h"

namespace thinpipe {

OptionInfo time_scale_option();

/// `1|2|4`, `auto`: factors, kAutoTimeScale (harness/sweep/options.h) for `auto`, each once.
/// @throws InputError naming what is neither `auto` nor a number from 0.001 to 1000.
std::vector<double> parse_time_scales(const std::string& text);

/// One factor, as `--time-scale` of `report` takes it. @throws InputError as above.
double parse_time_scale(const std::string& text);

}  // namespace thinpipe
