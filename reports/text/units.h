// Figures as people read them: three significant digits. Those with a unit are base/units.h.
#pragma once

#include <string>

#include "base/units.h"
#include "reports/statistics/interval.h"

namespace thinpipe {

/// Three significant digits without an exponent between 0.001 and 1e6: "0.123", "12.3", "1230".
std::string format_number(double value);
std::string format_percent(double share);  ///< 0.123 -> "12.3 %"

/// "6.5 to 7.1", or "no interval" when there is none.
std::string format_interval(const Estimate& estimate, std::string (*format)(double));

}  // namespace thinpipe
