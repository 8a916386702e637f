// Rates, sizes and times: parsed in tc's notation, formatted for people.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace units_detail {

struct Suffix {
  std::string_view name;
  double factor;
};

inline double parse(std::string_view text, std::span<const Suffix> suffixes, const char* what,
                    const char* example) {
  for (const Suffix& unit : suffixes) {
    const double most = std::numeric_limits<double>::max() / std::max(unit.factor, 1.0);
    if (const auto value = parse_number_with<double>(unit.name, text, 0, most))
      return *value * unit.factor;
  }
  std::string message = in_quotes(text) + " is not a " + what + " (such as " + example + "; units:";
  for (const Suffix& unit : suffixes)
    if (!unit.name.empty()) message += " " + std::string(unit.name);
  throw InputError(message + ")");
}

// Formats a value in the largest unit in which it is at least 1 when rounded; `units` descend.
inline std::string format(double value, std::span<const Suffix> units) {
  const Suffix* unit = &units.front();
  if (!std::isfinite(value))
    return std::isnan(value) ? "not a number" : value > 0 ? "infinite" : "-infinite";
  for (const Suffix& candidate : units) {
    unit = &candidate;
    if (std::fabs(value) >= 0.9995 * candidate.factor) break;
  }
  const double scaled = value / unit->factor;
  char text[64];
  std::snprintf(text, sizeof(text), std::fabs(scaled) < 999.5 ? "%.3g %s" : "%.0f %s", scaled,
                unit->name.data());
  return text;
}

}  // namespace units_detail

/// Returns a rate in bit/s. Suffixes as in tc: bit, kbit, mbit, gbit (SI); a bare number is bit/s.
/// @throws InputError
inline double parse_rate(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"", 1}, {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
  return units_detail::parse(text, kSuffixes, "rate", "100mbit");
}

/// Returns a size in bytes. Suffixes as in tc: b, kb and k (1024), mb and m (1024 squared), gb and
/// g. @throws InputError
inline double parse_size(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"", 1},        {"b", 1},          {"k", 1024},         {"kb", 1024},
      {"m", 1048576}, {"mb", 1048576.0}, {"g", 1073741824.0}, {"gb", 1073741824.0}};
  return units_detail::parse(text, kSuffixes, "size", "256kb");
}

/// Returns a time in seconds. Suffixes: s, ms, us, ns. @throws InputError
inline double parse_time(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  return units_detail::parse(text, kSuffixes, "time", "10ms");
}

/// Formats a rate, "100 Mbit/s", with three significant digits. A value that rounds up to the next
/// unit is given in that unit.
inline std::string format_rate(double bits_per_second) {
  static constexpr units_detail::Suffix kUnits[] = {
      {"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}};
  return units_detail::format(bits_per_second, kUnits);
}

/// Formats a time, "12.3 ms", likewise.
inline std::string format_time(double seconds) {
  static constexpr units_detail::Suffix kUnits[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  return seconds == 0 ? "0 s" : units_detail::format(seconds, kUnits);
}

/// Formats a size, "1.72 MB" (decimal), likewise.
inline std::string format_bytes(double bytes) {
  static constexpr units_detail::Suffix kUnits[] = {
      {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}};
  return units_detail::format(bytes, kUnits);
}

}  // namespace thinpipe
