// Figures measured inside a sandbox, so that expectations can be outside of it, where GoogleTest
// is.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace thinpipe {

/// Runs `body` in a sandbox (netem/sandbox.h) and returns what it returned, at most a million
/// figures. A measurement that the program does not hold valid (netem/verify/machine_watch.h) is
/// repeated, three times in all; then the test that runs is skipped, and ends.
/// @throws RunError with the text of what `body` threw.
std::vector<double> in_sandbox(const std::function<std::vector<double>()>& body);

/// The same for counts, which a busy machine does not change: measured once, and always valid.
std::vector<double> counts_in_sandbox(const std::function<std::vector<double>()>& body);

/// Leaves a figure in the report of the test that runs: `note("delay", 0.0201, "s")`.
void note(const std::string& name, double value, const std::string& unit);

}  // namespace thinpipe
