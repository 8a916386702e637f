// `--time-scale auto` in a sweep: the machine is measured once for every link and number of ranks.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "harness/scale/choice.h"
#include "netem/network.h"

namespace thinpipe {

class ScaleChooser {
 public:
  /// @param threads  of each rank's codec
  explicit ScaleChooser(int threads) : threads_(threads) {}

  /// Was there nothing to be measured for this link and so many ranks before?
  bool is_new(const LinkSpec& link, int ranks) const {
    return !choices_.contains(key(link, ranks));
  }

  /// Sets the links as fast as they go, measures a flow for a second and chooses. Links must be set
  /// anew afterwards. @throws RunError as verify_link() does.
  const TimeScaleChoice& choose(Network& network, int ranks, const LinkSpec& link);

 private:
  using Key = std::pair<std::string, int>;
  static Key key(const LinkSpec& link, int ranks) { return {link.to_string(), ranks}; }

  int threads_;
  std::map<Key, TimeScaleChoice> choices_;
};

}  // namespace thinpipe
