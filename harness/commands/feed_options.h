// Options that say how gradients are fed to compressors and when they leave: axes of a sweep.
#pragma once

#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "workloads/replay/feed.h"

namespace thinpipe {

std::vector<OptionInfo> feed_options();

/// All combinations of what they say that mean different things, in writing order.
/// @throws InputError naming the option and what it expects
std::vector<Feed> feeds_of(const Arguments& arguments);

}  // namespace thinpipe
