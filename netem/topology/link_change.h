// A link inside a topology: a complete link spec, or changes to another link.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Settings of a link as users write them: `rate=10mbit,delay=5ms`, in parentheses or not. Unlike
/// in a LinkSpec, a rate may be a multiple of the rate of the run's link, --link (`rate=4x`,
/// `rate=0.1x`). applied_to() takes omitted keys from another link. `unthrottled` is a link without
/// limits.
class LinkChange {
 public:
  LinkChange() = default;  ///< changes nothing
  /// @throws InputError as parse_link_spec() does.
  static LinkChange parse(std::string_view text);

  /// Returns `base` with these keys replaced. A rate without a direction replaces the rates of both
  /// directions. A key for one direction overrides the same key for both, whatever their order.
  /// @param reference  the link that `4x` multiplies
  /// @throws InputError when the result is not a link, such as 4x of a link without a rate.
  LinkSpec applied_to(const LinkSpec& base, const LinkSpec& reference) const;

  /// Returns canonical text: a preset's name first, then rates as LinkSpec prints them, then other
  /// keys in alphabetical order.
  std::string to_string() const;
  bool empty() const { return pairs_.empty(); }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;  ///< a name has an empty value
  Pairs pairs_;
};

}  // namespace thinpipe
