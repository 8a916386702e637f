// The patterns gtopk, oktopk and qgz.
#pragma once

#include "workloads/exchange/patterns.h"

namespace thinpipe {

PatternInfo gtopk_pattern();
PatternInfo oktopk_pattern();
PatternInfo qgz_pattern();

}  // namespace thinpipe
