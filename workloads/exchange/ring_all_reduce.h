// Where the constants of segments.h used to be.
#pragma once

#include "workloads/exchange/segments.h"
