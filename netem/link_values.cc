#include "netem/link_values.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/units.h"

namespace thinpipe::link_values {

namespace {

constexpr double kMostCorrelation = 99;  // percent

}  // namespace

double read_rate(const std::string& text) {
  const double rate = parse_rate(text);
  if (rate >= kLowestLinkRate && rate <= kHighestLinkRate) return rate;
  throw InputError(fmt::format("{} is out of range; {} to {} is possible", excerpt(text),
                               print_rate(kLowestLinkRate), print_rate(kHighestLinkRate)));
}

std::uint32_t read_bytes(const std::string& text, double least, double most) {
  const double bytes = parse_size(text);
  if (bytes >= least && bytes <= most) return static_cast<std::uint32_t>(bytes);
  throw InputError(fmt::format("{} is out of range; {:.0f} to {:.0f} bytes are possible",
                               excerpt(text), least, most));
}

std::chrono::nanoseconds read_time(const std::string& text, double most_seconds) {
  const double seconds = parse_time(text);
  if (seconds <= most_seconds) return std::chrono::nanoseconds(std::llround(seconds * 1e9));
  throw InputError(
      fmt::format("{} is out of range; 0s to {}s is possible", excerpt(text), most_seconds));
}

double read_percent(const std::string& text) {
  // tc takes a bare number for percent as well; here the sign must be there, so that nobody takes
  // 0.01 for one in a hundred.
  if (const auto value = parse_number_with<double>("%", text, 0, 100)) return *value;
  if (!parse_number_with<double>("%", text))
    throw InputError(fmt::format("{} is not a percentage (such as 0.1%)", in_quotes(text)));
  throw InputError(fmt::format("{} is out of range; 0% to 100% is possible", excerpt(text)));
}

std::uint64_t read_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
  if (const auto value = parse_number<std::uint64_t>(text, least, most)) return *value;
  throw InputError(
      fmt::format("{} is not a whole number from {} to {}", in_quotes(text), least, most));
}

double read_multiple(const std::string& text, std::string_view unit, double most) {
  const auto value = parse_number_with<double>(unit, text, 0, most);
  if (value && *value > 0) return *value;
  throw InputError(fmt::format("{} is not a multiple above 0 and up to {} (such as 2{})",
                               in_quotes(text), most, unit));
}

Chance read_chance(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() > 2)
    throw InputError(fmt::format(
        "{} has {} parts; expected a percentage and perhaps its correlation (such as 1%/25%)",
        in_quotes(text), parts.size()));
  const Chance chance{read_percent(parts[0]), parts.size() > 1 ? read_percent(parts[1]) : 0};
  if (chance.correlation > kMostCorrelation)
    throw InputError(fmt::format(
        "a correlation of {} lets the first frame decide for nearly all; up to {}% is possible",
        parts[1], kMostCorrelation));
  return chance.percent > 0 ? chance : Chance{};
}

std::size_t read_choice(const std::string& text, const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  throw InputError(fmt::format("{} is none of {}{}", in_quotes(text), fmt::join(choices, ", "),
                               did_you_mean(text, choices)));
}

std::string print_rate(double rate) {
  for (const auto& [factor, suffix] :
       {std::pair{1e9, "gbit"}, std::pair{1e6, "mbit"}, std::pair{1e3, "kbit"}}) {
    // Division may lose the last bit; such a rate is printed in the next smaller unit.
    if (rate >= factor && rate / factor * factor == rate)
      return fmt::format("{}{}", rate / factor, suffix);
  }
  return fmt::format("{}bit", rate);
}

std::string print_time(std::chrono::nanoseconds time) {
  // Whole nanoseconds, of which read_time's rounding makes the same number again.
  const auto count = static_cast<double>(time.count());
  for (const auto& [factor, suffix] :
       {std::pair{1e9, "s"}, std::pair{1e6, "ms"}, std::pair{1e3, "us"}})
    if (count >= factor) return fmt::format("{}{}", count / factor, suffix);
  return fmt::format("{}ns", count);
}

std::string print_percent(double percent) { return fmt::format("{}%", percent); }

std::string print_chance(const Chance& chance) {
  if (chance.percent == 0) return "";
  const std::string percent = print_percent(chance.percent);
  return chance.correlation == 0 ? percent : percent + "/" + print_percent(chance.correlation);
}

}  // namespace thinpipe::link_values
