// `kind:key=value,key=value`: one part of a schedule, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Keys are taken by those who know them; what is left over in the end is an error. All errors are
/// InputErrors that begin with `where` and the part, and name the key, what was found and what is
/// expected.
class ScheduleItems {
 public:
  /// @param where  "schedule", or "FILE:LINE"
  ScheduleItems(std::string where, std::string_view part);

  const std::string& kind() const { return kind_; }
  std::string take(const std::string& key);  ///< an error when it is not there
  std::optional<std::string> find(const std::string& key);
  /// All whose key begins with a digit, in their order: `5s=10mbit`.
  std::vector<std::pair<std::string, std::string>> take_points();
  /// An error when something is left; `known` are the keys of this kind.
  void finish(const std::vector<std::string>& known) const;
  [[noreturn]] void fail(const std::string& what) const;

  /// Calls `reader` with the text and puts the key before what it has to complain of.
  template <typename Read>
  auto read(const std::string& key, const std::string& text, Read reader) const;

 private:
  [[noreturn]] void fail_key(const std::string& key, const std::string& text,
                             const std::string& what) const;

  std::string where_, part_, kind_;
  std::vector<std::pair<std::string, std::string>> items_;
};

template <typename Read>
auto ScheduleItems::read(const std::string& key, const std::string& text, Read reader) const {
  try {
    return reader(text);
  } catch (const InputError& error) {
    fail_key(key, text, error.what());
  }
}

}  // namespace thinpipe
