// Texts of `key=value,key=value`, as links, schedules, topologies, optimisers and drawn gradients
// are described: taken apart in one way, with one kind of error.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

/// Splits at every `separator` that stands outside of parentheses; nothing where parentheses do not
/// match, or stand within others.
inline std::optional<std::vector<std::string>> split_outside(std::string_view text,
                                                             char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (depth < 0 || depth > 1) return std::nullopt;
    if (letter == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return depth == 0 ? std::optional(std::move(parts)) : std::nullopt;
}

/// Pairs of keys and values, taken by those who know the keys. Every error is an InputError that
/// begins with what the text is and the text.
class KeyValues {
 public:
  struct Pair {
    std::string key, value;
  };

  /// @param what   what the text is, for messages: "schedule"
  /// @param text   the whole of it, for messages
  /// @param pairs  the part of it that has the pairs; commas in parentheses do not separate them
  /// @throws InputError for what is no pair, and for a key that is given twice
  KeyValues(std::string what, std::string_view text, std::string_view pairs)
      : what_(std::move(what)), text_(text) {
    // A file's name may have any parentheses.
    for (const std::string& part : split_outside(pairs, ',').value_or(split(pairs, ','))) {
      const std::size_t equals = part.find('=');
      if (equals == 0 || equals == std::string::npos || equals + 1 == part.size())
        fail("expected key=value, found " + in_quotes(part));
      const std::string key = part.substr(0, equals);
      if (given(key)) fail(excerpt(key) + " is given twice");
      left_.push_back({key, part.substr(equals + 1)});
      all_.push_back(key);
    }
  }

  /// Reads `name:key=value,...`; a name alone has no pairs.
  static KeyValues after_name(std::string what, std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos)
      return KeyValues(std::move(what), text, text.substr(colon + 1));
    KeyValues none;
    none.what_ = std::move(what);
    none.text_ = text;
    return none;
  }

  /// Whether the text has the key, taken or not.
  bool given(const std::string& key) const {
    return std::find(all_.begin(), all_.end(), key) != all_.end();
  }

  /// The pairs not taken yet, in the order of the text.
  const std::vector<Pair>& left() const { return left_; }

  /// Takes the value of a key; nothing where there is none.
  std::optional<std::string> find(const std::string& key) {
    known_.push_back(key);
    const auto found =
        std::find_if(left_.begin(), left_.end(), [&](const Pair& pair) { return pair.key == key; });
    if (found == left_.end()) return std::nullopt;
    std::string value = std::move(found->value);
    left_.erase(found);
    return value;
  }

  /// The same of a key that must be there.
  std::string take(const std::string& key) {
    std::optional<std::string> value = find(key);
    if (!value) fail(key + "= is missing");
    return *std::move(value);
  }

  /// Takes all whose key satisfies `is_one`, in their order.
  template <typename IsOne>
  std::vector<Pair> take_if(IsOne is_one) {
    std::vector<Pair> taken;
    for (const Pair& pair : left_)
      if (is_one(pair.key)) taken.push_back(pair);
    std::erase_if(left_, [&](const Pair& pair) { return is_one(pair.key); });
    return taken;
  }

  /// Returns what `reader` makes of a value; key and value stand before its complaint.
  template <typename Read>
  auto read(const std::string& key, const std::string& value, Read reader) const {
    try {
      return reader(value);
    } catch (const InputError& error) {
      fail_value(key, value, error.what());
    }
  }

  /// A number from `least` to `most`; `otherwise` where the key is not given, which must be where
  /// there is no `otherwise`.
  template <typename Number = double>
  Number number(const std::string& key, std::optional<std::type_identity_t<Number>> otherwise,
                std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
    if (otherwise && !given(key)) return known_.push_back(key), *otherwise;
    const std::string value = take(key);
    const auto found = parse_number<Number>(value, least, most);
    if (!found)
      fail_value(
          key, value,
          std::string(std::integral<Number> ? "expected a whole number" : "expected a number") +
              " from " + written(least) + " to " + written(most));
    return *found;
  }

  /// Which of the names the value is, the first where the key is not given.
  std::size_t choice(const std::string& key, const std::vector<std::string>& names) {
    const std::string value = find(key).value_or(names.front());
    const auto found = std::find(names.begin(), names.end(), value);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    fail_value(
        key, value,
        "expected one of " + listed(names) + (value.size() > 1 ? did_you_mean(value, names) : ""));
  }

  /// Refuses what nobody took. @param also  what else may stand there, for the message
  void finish(const std::string& also = "") const {
    if (left_.empty()) return;
    fail("unknown key " + in_quotes(left_.front().key) + " (known: " + listed(known_) +
         (also.empty() ? "" : " and " + also) + ")" + did_you_mean(left_.front().key, known_));
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(what_ + " " + in_quotes(text_) + ": " + problem);
  }
  [[noreturn]] void fail_value(const std::string& key, const std::string& value,
                               const std::string& problem) const {
    fail(excerpt(key) + "=" + excerpt(value) + ": " + problem);
  }

 private:
  KeyValues() = default;

  template <typename Number>
  static std::string written(Number number) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof(text), number).ptr};
  }

  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  std::string what_, text_;
  std::vector<Pair> left_;
  std::vector<std::string> all_, known_;
};

}  // namespace thinpipe
