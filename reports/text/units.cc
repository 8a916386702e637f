// Figures as people read them.
#include "reports/text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thinpipe {

std::string format_number(double value) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 1e-3 || magnitude >= 1e6) return fmt::format("{:.2e}", value);
  const int digits_before = static_cast<int>(std::floor(std::log10(magnitude * 1.0005))) + 1;
  const int decimals = std::max(0, 3 - digits_before);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {  // 2.00 -> 2, 2.50 -> 2.5
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string format_percent(double share) { return format_number(100 * share) + " %"; }

std::string format_interval(const Estimate& estimate, std::string (*format)(double)) {
  if (!estimate.interval) return "no interval";
  return format(estimate.interval->low) + " to " + format(estimate.interval->high);
}

}  // namespace thinpipe
