// Helpers for the parsers of options, specs, links, schedules and files: text, numbers and choices
// from outside.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Splits at every `separator`; "a,,b" gives three parts, "" gives one empty part.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

/// Returns the words of a text, which blanks, tabs and line ends separate.
inline std::vector<std::string> words_in(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";  // as in std::isspace
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Adds `value` to `values` unless it is among them, or another one with the same projection.
/// Returns the index of the one that is in `values`.
template <class Value, class Projection = std::identity>
std::size_t add_once(std::vector<Value>& values, std::type_identity_t<Value> value,
                     Projection projection = {}) {
  const auto found = std::ranges::find(values, std::invoke(projection, value), projection);
  const auto index = static_cast<std::size_t>(found - values.begin());
  if (found == values.end()) values.push_back(std::move(value));
  return index;
}

/// Returns the part of the text without blanks, tabs and line ends at its two ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Returns the optimal string alignment distance: insertions, deletions, substitutions and swaps of
/// two neighbours each cost 1.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      at(i, j) =
          std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

/// Returns the candidate that is nearest to `word`, or "" if no candidate is near enough to be what
/// the user meant. The edit distance may be 1, or up to a third of the longer word's letters.
inline std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::string::npos;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance <= allowed && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

/// Returns a file name that is valid everywhere, such as "topk-ratio=0.01" for "topk:ratio=0.01".
/// ASCII letters and digits, `.` and `=` stay, and the plus of an exponent, so that 1e+05 differs
/// from 1e-05. Each run of other characters between them becomes one dash.
inline std::string plain_file_name(std::string_view text) {
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool kept =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(i) || c == '.' || c == '=';
    const bool is_exponent = c == '+' && i > 1 && text[i - 1] == 'e' && is_digit(i + 1) &&
                             (is_digit(i - 2) || text[i - 2] == '.');
    if (kept || is_exponent) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

/// Returns true for every byte of a UTF-8 character except the first.
inline bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Returns text from outside as errors quote it: whole where it is short, otherwise its beginning
/// and its length, "aaaa... (100000 characters)".
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 120;  // most specs and links; one and a half lines
  constexpr std::size_t kShown = 60;
  if (text.size() <= kLongest) return std::string(text);
  std::size_t end = kShown;
  while (end > 0 && continues_character(text[end])) --end;
  return std::string(text.substr(0, end)) + "... (" + std::to_string(text.size()) + " characters)";
}

/// Returns excerpt() in quotes.
inline std::string in_quotes(std::string_view text) { return "'" + excerpt(text) + "'"; }

/// Returns a command line that a POSIX shell reads back as these arguments.
inline std::string shell_quoted(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char byte : argument)
      line += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
    line += '\'';
  }
  return line;
}

/// Returns "; did you mean 'topk'?", or "" if no candidate is near.
inline std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

/// Parses the whole of `text` as a decimal number from `least` to `most`. Returns nullopt for any
/// other text, which includes:
/// * empty text, a plus or a blank, infinity and NaN;
/// * a point or an exponent, if `Number` is an integer;
/// * a minus, if `least` is not negative, so that "-0" is not an index.
/// The bounds have the returned type, so nothing is narrowed after the check.
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

/// Removes `suffix` from the end of `text` and parses the rest of the text as parse_number() does.
/// Returns nullopt if the suffix is missing.
template <typename Number>
std::optional<Number> parse_number_with(
    std::string_view suffix, std::string_view text,
    std::type_identity_t<Number> least = std::numeric_limits<Number>::lowest(),
    std::type_identity_t<Number> most = std::numeric_limits<Number>::max()) {
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  return parse_number<Number>(text, least, most);
}

/// Greatest number of texts to which one text with alternatives (`a|b`) may expand. To measure so
/// many points of two minutes each takes a week.
inline constexpr std::size_t kMaxAlternatives = 5000;

/// Checks the product of `found` and `more` alternatives before a text is expanded to that many
/// texts. Alternatives at several positions of one text multiply: `a|b|c` at twelve positions gives
/// half a million.
/// @throws InputError when the product is above kMaxAlternatives.
inline void check_alternatives(std::string_view text, std::size_t found, std::size_t more) {
  if (more == 0 || found <= kMaxAlternatives / more) return;
  throw InputError(in_quotes(text) + ": its alternatives ('|') expand to more than " +
                   std::to_string(kMaxAlternatives) + "; give fewer at a time");
}

}  // namespace thinpipe
