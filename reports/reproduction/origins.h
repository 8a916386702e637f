// Where a reproduction's figures come from, and which do not count.
#pragma once

#include <string>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// The machines, builds and days of all commands, each once.
std::vector<std::string> origins_of(const Reproduction& reproduction);

/// Commands that failed; points that do not count, and why; each once.
std::vector<std::string> complaints_of(const Reproduction& reproduction);

}  // namespace thinpipe
