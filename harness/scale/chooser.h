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

  /// Was nothing chosen under this key, for so many ranks, before?
  bool is_new(const std::string& key, int ranks) const { return !choices_.contains({key, ranks}); }

  /// Sets the links as fast as they go, measures a flow from the first rank's host to the last's
  /// for a second and chooses; under a key that is known, what was chosen. Links must be set anew
  /// afterwards.
  /// @param busiest  the network at the highest rates it will have
  /// @throws RunError as measure_flows() does.
  const TimeScaleChoice& choose(Network& network, const std::string& key, int ranks,
                                const Topology& busiest);

 private:
  using Key = std::pair<std::string, int>;

  int threads_;
  std::map<Key, TimeScaleChoice> choices_;
};

}  // namespace thinpipe
