// Figures as people read them: three significant digits and a unit.
#pragma once

#include <string>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// Three significant digits without an exponent between 0.001 and 1e6: "0.123", "12.3", "1230".
std::string format_number(double value);
std::string format_time(double seconds);     ///< "12.3 ms"
std::string format_rate(double bits_per_s);  ///< "100 Mbit/s"; SI prefixes as `tc` reads them
std::string format_bytes(double bytes);      ///< "34.0 kB", SI prefixes
std::string format_percent(double share);    ///< 0.123 -> "12.3 %"

/// "6.5 to 7.1", or "no interval" when there is none.
std::string format_interval(const Estimate& estimate, std::string (*format)(double));

}  // namespace thinpipe
