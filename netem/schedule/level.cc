#include "netem/schedule/level.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/link_spec.h"

namespace thinpipe {

namespace {

constexpr double kMostShare = 10;
constexpr double kLongestTime = 1e6;  // s: eleven days

double parse_percent(const std::string& text, double most) {
  if (const auto percent = parse_number_with<double>("%", text, 0, 100 * most))
    return *percent / 100;
  throw InputError(fmt::format("{} is not a share from 0% to {}%", in_quotes(text), 100 * most));
}

// The largest of the units in which the value is not below 1, as short as reads back the same.
std::string with_unit(double value, std::initializer_list<std::pair<double, const char*>> units) {
  for (const auto& [factor, name] : units)
    if (value >= factor && value / factor * factor == value)
      return fmt::format("{}{}", value / factor, name);
  return fmt::format("{}{}", value, std::prev(units.end())->second);
}

}  // namespace

std::string quantity_name(Quantity quantity) {
  return quantity == Quantity::kRate ? "rate" : quantity == Quantity::kDelay ? "delay" : "loss";
}

Level parse_level(Quantity quantity, const std::string& text) {
  if (quantity == Quantity::kLoss) return {parse_percent(text, 1), false};
  if (text.ends_with('%')) return {parse_percent(text, kMostShare), true};
  if (quantity == Quantity::kRate) {
    const double rate = parse_rate(text);
    if (rate != 0 && !(rate >= kLowestLinkRate && rate <= kHighestLinkRate))
      throw InputError(
          fmt::format("{} is not a rate from 1kbit to 100gbit, nor 0", in_quotes(text)));
    return {rate, false};
  }
  const double delay = text == "0" ? 0 : parse_time(text);
  if (delay > kLongestLinkDelay)
    throw InputError(fmt::format("{} is a delay above 100s", in_quotes(text)));
  return {delay, false};
}

std::string level_text(Quantity quantity, const Level& level) {
  if (level.share || quantity == Quantity::kLoss)
    return fmt::format("{}%", std::round(level.value * 1e11) / 1e9);  // 0.07 * 100 is not 7
  if (level.value == 0) return "0";
  if (quantity == Quantity::kDelay) return moment_text(level.value);
  return with_unit(level.value, {{1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}, {1, "bit"}});
}

double parse_moment(const std::string& text) {
  const double seconds = text == "0" ? 0 : parse_time(text);
  if (seconds > kLongestTime)
    throw InputError(fmt::format("{} is longer than {:.0f} s", in_quotes(text), kLongestTime));
  return seconds;
}

std::string moment_text(double seconds) {
  if (seconds == 0) return "0s";
  // Shortest text that reads back: 0.05 is 50ms, and 50 * 1e-3 must be 0.05 again.
  for (const auto& [factor, name] : {std::pair{1.0, "s"}, std::pair{1e-3, "ms"}}) {
    const double value = std::round(seconds / factor * 1e6) / 1e6;
    if (value >= 1 && value * factor == seconds) return fmt::format("{}{}", value, name);
  }
  return fmt::format("{}s", seconds);
}

}  // namespace thinpipe
