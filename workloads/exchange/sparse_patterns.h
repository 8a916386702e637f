// The patterns gtopk, oktopk and qgz.
#pragma once

#include "workloads/exchange/patterns.h"
#include "workloads/exchange/qgz.h"

namespace thinpipe {

PatternInfo gtopk_pattern();
PatternInfo oktopk_pattern();
PatternInfo qgz_pattern();

QgzOptions qgz_options(const Parameters& parameters);

}  // namespace thinpipe
