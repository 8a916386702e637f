// The command that measures one point of a run, a training or a bench again.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

/// For a shell: the command of the launch that measured the point, with its axes in place of those
/// of the sweep, and `-again` after the name of its folder. The launch is the last one that began
/// no later than the point; "" where there is none or its command is another.
std::string again_command(const Records& records, const Point& point);

/// The same, word by word; empty in place of "".
std::vector<std::string> again_words(const Records& records, const Point& point);

}  // namespace thinpipe
