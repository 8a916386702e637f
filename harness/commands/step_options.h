// Options of a step, which are axes of a sweep: how gradients are bucketed, when payloads are sent,
// and the time dilation.
#pragma once

#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "workloads/replay/bucketing.h"

namespace thinpipe {

std::vector<OptionInfo> bucketing_options();

/// Returns all distinct combinations of the values of the bucketing options, in the order given.
/// @throws InputError with the option and the expected values
std::vector<Bucketing> bucketings_of(const Arguments& arguments);

/// Returns `--time-scale F`, the time dilation factor.
OptionInfo time_scale_option();

/// Parses factors such as `1|2|4`, without duplicates. `auto` is kAutoTimeScale
/// (harness/plan/plan.h). @throws InputError for any other text and for a number outside 0.001 to
/// 1000
std::vector<double> parse_time_scales(const std::string& text);

/// Parses one factor, for `--time-scale` of `report`. @throws InputError as above
double parse_time_scale(const std::string& text);

}  // namespace thinpipe
