// Where the figures come from: what was replayed, by which commands, on which machine, and which
// command measures one point again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// A JSON object as dotted names and plain texts, in the object's order.
NamedValues flattened(const nlohmann::json& object);

/// A header's calibration without the links, which have a table of their own.
NamedValues calibration_values(const Header& header);

/// "lenet5, 431080 elements in 8 tensors, 20 steps"; as much of it as the last header tells.
std::string trace_line(const Records& records);

/// The distinct command lines of the launches, then the report's own; each ready for a shell.
std::vector<std::string> reproduce_commands(const Records& records);

/// How intervals, ratios and break-even rates were computed, in sentences.
std::vector<std::string> method_notes();

/// The command that measures one point of a run, a training or a bench again, for a shell: that of
/// the launch that measured the point, with its axes in place of those of the sweep, and `-again`
/// after the name of its folder. The launch is the last one that began no later than the point; ""
/// where there is none or its command is another.
std::string again_command(const Records& records, const Point& point);

/// The same, word by word; empty in place of "".
std::vector<std::string> again_words(const Records& records, const Point& point);

}  // namespace thinpipe
