// A link as it stands inside a topology: whole, or as changes of another one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// `rate=10mbit,delay=5ms`, in parentheses or not. Two things are more than in a LinkSpec:
/// a rate may be a multiple of the run's link (`rate=4x`, `rate=0.1x`), and what is left out may
/// come from another link. `unthrottled` is a link without limits.
class LinkChange {
 public:
  LinkChange() = default;  ///< changes nothing
  /// @throws InputError as parse_link_spec() does.
  static LinkChange parse(std::string_view text);

  /// `base` with what is said here in place of what it says. `reference` is what `4x` multiplies.
  /// A rate without direction also replaces those for one direction.
  /// @throws InputError when the result is no link, such as 4x of a link without a rate.
  LinkSpec applied_to(const LinkSpec& base, const LinkSpec& reference) const;

  /// A name first, then rates, as LinkSpec writes them, then other keys in alphabetical order.
  std::string to_string() const;
  bool empty() const { return pairs_.empty(); }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;  ///< a bare word has no value
  Pairs pairs_;
};

}  // namespace thinpipe
