// Describes where a report's figures come from (trace, commands and machine), and finds the command
// that repeats the measurement of a point.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the members of a JSON object, nested ones with dotted names, as plain texts in the
/// object's order.
NamedValues flattened(const nlohmann::json& object);

/// Returns a header's calibration without its links, which have a separate table in the report.
NamedValues calibration_values(const Header& header);

/// Returns a text such as "lenet5, 431080 elements in 8 tensors, 20 steps", or the program of a
/// job; and whether steps were simulated. Details that the last header lacks are left out.
std::string trace_line(const Records& records);

/// Returns the distinct command lines of the launches, then the command line of the report. All are
/// quoted for a shell.
std::vector<std::string> reproduce_commands(const Records& records);

/// Describes in sentences how intervals, ratios and break-even rates were computed.
std::vector<std::string> method_notes();

/// Returns the shell command that repeats the measurement of one point. This is the command of the
/// launch that measured the point, with two changes: the point's own values replace the options of
/// the sweep's axes, and the output folder's name gets the suffix `-again`. The launch is the last
/// one that began no later than the point. Returns "" if no launch with a command is recorded, or
/// if the command's verb is none of `run`, `train` and `bench`.
std::string again_command(const Records& records, const Point& point);

/// Returns the words of again_command(), unquoted. Empty where again_command() returns "".
std::vector<std::string> again_words(const Records& records, const Point& point);

}  // namespace thinpipe
