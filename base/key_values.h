// Parses texts of `key=value,key=value`, which describe links, schedules, topologies, optimisers
// and synthetic gradients, with one kind of error.
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

/// Splits at every `separator` outside parentheses. Returns nothing where parentheses do not match
/// or are nested.
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

/// Holds the key-value pairs of a text. Callers take the values of the keys that they know. Every
/// error is an InputError that begins with the kind of the text and the text itself.
class KeyValues {
 public:
  struct Pair {
    std::string key, value;
  };

  /// @param what   what the text is, for messages: "schedule"
  /// @param text   the whole text, for messages
  /// @param pairs  the section of `text` with the pairs; commas in parentheses do not separate
  ///   pairs
  /// @throws InputError for an item that is not a pair and for a key that is given twice
  KeyValues(std::string what, std::string_view text, std::string_view pairs)
      : what_(std::move(what)), text_(text) {
    // A file name may contain any parentheses.
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

  /// Returns whether the text has the key, taken or not.
  bool given(const std::string& key) const {
    return std::find(all_.begin(), all_.end(), key) != all_.end();
  }

  /// Returns the pairs not taken yet, in the order of the text.
  const std::vector<Pair>& left() const { return left_; }

  /// Takes the value of a key. Returns nothing where the key is missing.
  std::optional<std::string> find(const std::string& key) {
    known_.push_back(key);
    const auto found =
        std::find_if(left_.begin(), left_.end(), [&](const Pair& pair) { return pair.key == key; });
    if (found == left_.end()) return std::nullopt;
    std::string value = std::move(found->value);
    left_.erase(found);
    return value;
  }

  /// Takes the value of a required key. @throws InputError where the key is missing
  std::string take(const std::string& key) {
    std::optional<std::string> value = find(key);
    if (!value) fail(key + "= is missing");
    return *std::move(value);
  }

  /// Takes all pairs whose key satisfies `is_one`, in their order.
  template <typename IsOne>
  std::vector<Pair> take_if(IsOne is_one) {
    std::vector<Pair> taken;
    for (const Pair& pair : left_)
      if (is_one(pair.key)) taken.push_back(pair);
    std::erase_if(left_, [&](const Pair& pair) { return is_one(pair.key); });
    return taken;
  }

  /// Returns the result of `reader` for a value. An error of `reader` is prefixed with key and
  /// value.
  template <typename Read>
  auto read(const std::string& key, const std::string& value, Read reader) const {
    try {
      return reader(value);
    } catch (const InputError& error) {
      fail_value(key, value, error.what());
    }
  }

  /// Takes a number from `least` to `most`. Returns `otherwise` where the key is not given; without
  /// an `otherwise` the key is required. @throws InputError
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

  /// Takes a value that is one of `names`. Returns its index, 0 where the key is not given.
  /// @throws InputError for any other value
  std::size_t choice(const std::string& key, const std::vector<std::string>& names) {
    const std::string value = find(key).value_or(names.front());
    const auto found = std::find(names.begin(), names.end(), value);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    fail_value(
        key, value,
        "expected one of " + listed(names) + (value.size() > 1 ? did_you_mean(value, names) : ""));
  }

  /// Refuses pairs that no caller took. @param also  what else is allowed, for the message
  /// @throws InputError
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
