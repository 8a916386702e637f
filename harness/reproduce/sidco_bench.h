// What SIDCo's figures of compression speed have in common.
#pragma once

#include <string>
#include <vector>

#include "reports/reproduction/judge.h"

namespace thinpipe {

/// At each ratio: SIDCo is faster than Top-k and than DGC; DGC is slower than Top-k.
std::vector<Expectation> sidco_speed_expectations(const std::string& column);

std::vector<std::string> bench_differences();

}  // namespace thinpipe
