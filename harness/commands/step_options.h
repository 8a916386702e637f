// Options that say how a step goes, axes of a sweep: how gradients are fed to compressors, when
// they leave, and how much slower than real time all of it is.
#pragma once

#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "workloads/replay/feed.h"

namespace thinpipe {

std::vector<OptionInfo> feed_options();

/// All combinations of what they say that mean different things, in writing order.
/// @throws InputError naming the option and what it expects
std::vector<Feed> feeds_of(const Arguments& arguments);

/// `--time-scale F`, of the verbs that run ranks and that report them.
OptionInfo time_scale_option();

/// `1|2|4`, `auto`: factors, kAutoTimeScale (harness/plan/plan.h) for `auto`, each once.
/// @throws InputError naming what is neither `auto` nor a number from 0.001 to 1000.
std::vector<double> parse_time_scales(const std::string& text);

/// One factor, as `--time-scale` of `report` takes it. @throws InputError as above.
double parse_time_scale(const std::string& text);

}  // namespace thinpipe
