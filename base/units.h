// Rates, sizes and times as users write them (tc's notation) and as people read them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace thinpipe {

namespace units_detail {

struct Suffix {
  std::string_view name;
  double factor;
};

inline double parse(std::string_view text, std::span<const Suffix> suffixes, const char* what,
                    const char* example) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (error == std::errc() && std::isfinite(value) && value >= 0) {
    for (const Suffix& candidate : suffixes)
      if (candidate.name == suffix) return value * candidate.factor;
  }
  std::string message =
      "'" + std::string(text) + "' is not a " + what + " (such as " + example + "; units:";
  for (const Suffix& candidate : suffixes)
    if (!candidate.name.empty()) message += " " + std::string(candidate.name);
  throw InputError(message + ")");
}

}  // namespace units_detail

/// bit/s. Suffixes as tc reads them: bit, kbit, mbit, gbit (SI); a bare number is bit/s.
inline double parse_rate(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"", 1}, {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
  return units_detail::parse(text, kSuffixes, "rate", "100mbit");
}

/// Bytes. Suffixes as tc reads them: b, kb and k (1024), mb and m (1024 squared).
inline double parse_size(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"", 1},        {"b", 1},          {"k", 1024},         {"kb", 1024},
      {"m", 1048576}, {"mb", 1048576.0}, {"g", 1073741824.0}, {"gb", 1073741824.0}};
  return units_detail::parse(text, kSuffixes, "size", "256kb");
}

/// Seconds. Suffixes: s, ms, us, ns.
inline double parse_time(std::string_view text) {
  static constexpr units_detail::Suffix kSuffixes[] = {
      {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  return units_detail::parse(text, kSuffixes, "time", "10ms");
}

/// "100 Mbit/s": three significant digits.
inline std::string format_rate(double bits_per_second) {
  const char* unit = "bit/s";
  double value = bits_per_second;
  for (const auto& [factor, name] :
       {std::pair{1e9, "Gbit/s"}, std::pair{1e6, "Mbit/s"}, std::pair{1e3, "kbit/s"}}) {
    if (bits_per_second >= factor) {
      value = bits_per_second / factor;
      unit = name;
      break;
    }
  }
  char text[64];
  std::snprintf(text, sizeof(text), value < 999.5 ? "%.3g %s" : "%.0f %s", value, unit);
  return text;
}

/// "12.3 ms": three significant digits.
inline std::string format_time(double seconds) {
  const char* unit = "s";
  double value = seconds;
  const double magnitude = std::fabs(seconds);
  if (magnitude < 1e-6)
    value = seconds * 1e9, unit = "ns";
  else if (magnitude < 1e-3)
    value = seconds * 1e6, unit = "us";
  else if (magnitude < 1)
    value = seconds * 1e3, unit = "ms";
  char text[64];
  std::snprintf(text, sizeof(text), std::fabs(value) < 999.5 ? "%.3g %s" : "%.0f %s", value, unit);
  return text;
}

/// "1.72 MB" (decimal): three significant digits.
inline std::string format_bytes(double bytes) {
  const char* unit = "B";
  double value = bytes;
  if (bytes >= 1e9)
    value = bytes / 1e9, unit = "GB";
  else if (bytes >= 1e6)
    value = bytes / 1e6, unit = "MB";
  else if (bytes >= 1e3)
    value = bytes / 1e3, unit = "kB";
  char text[64];
  std::snprintf(text, sizeof(text), value < 999.5 ? "%.3g %s" : "%.0f %s", value, unit);
  return text;
}

}  // namespace thinpipe
