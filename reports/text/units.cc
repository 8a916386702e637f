// Figures as people read them.
#include "reports/text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace thinpipe {
namespace {

struct Prefix {
  double factor;
  const char* name;
};

std::string with_prefix(double value, const char* unit, bool below_one) {
  static constexpr std::array<Prefix, 7> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "\xc2\xb5"}}};
  if (value == 0 || !std::isfinite(value)) return format_number(value) + " " + unit;
  for (const Prefix& prefix : kPrefixes) {
    // 0.9995 rounds up to the next prefix: 999.9 kB is written 1 MB.
    const bool is_smallest = prefix.factor == (below_one ? 1e-6 : 1.0);
    if (std::abs(value) >= 0.9995 * prefix.factor || is_smallest) {
      return format_number(value / prefix.factor) + " " + prefix.name + unit;
    }
  }
  return format_number(value) + " " + unit;
}

}  // namespace

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

std::string format_time(double seconds) {
  if (std::abs(seconds) >= 1000) return format_number(seconds) + " s";
  return with_prefix(seconds, "s", /*below_one=*/true);
}

std::string format_rate(double bits_per_s) { return with_prefix(bits_per_s, "bit/s", false); }

std::string format_bytes(double bytes) { return with_prefix(bytes, "B", false); }

std::string format_percent(double share) { return format_number(100 * share) + " %"; }

std::string format_interval(const Estimate& estimate, std::string (*format)(double)) {
  if (!estimate.interval) return "no interval";
  return format(estimate.interval->low) + " to " + format(estimate.interval->high);
}

}  // namespace thinpipe
