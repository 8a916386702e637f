// Numbers in text from outside: options, specs, links, schedules, files.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace thinpipe {

/// The number that all of `text` is, in decimal, from `least` to `most`. Nothing where `text` is
/// anything else: empty, with a plus or a blank, infinite or not a number, with a point or an
/// exponent where `Number` is whole, or with a minus where `least` is not negative (so "-0" is no
/// index).
/// The bounds are of the type that is returned, so nothing is narrowed after the check.
template <typename Number>
std::optional<Number> parse_number(
    std::string_view text,
    std::type_identity_t<Number> least = std::numeric_limits<Number>::lowest(),
    std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  if (least >= 0 && text.starts_with('-')) return std::nullopt;
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  // The comparisons refuse NaN, and as `most` is finite, infinity.
  const bool whole = error == std::errc() && rest == end;
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

/// As parse_number(), of `text` without `suffix` at its end. Nothing where it is not there.
template <typename Number>
std::optional<Number> parse_number_with(
    std::string_view suffix, std::string_view text,
    std::type_identity_t<Number> least = std::numeric_limits<Number>::lowest(),
    std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  return parse_number<Number>(text, least, most);
}

}  // namespace thinpipe
