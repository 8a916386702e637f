// Launches for a gate, of which those that the machine disturbed are taken again.
#pragma once

#include <filesystem>
#include <random>
#include <utility>

#include "harness/gate/launcher.h"
#include "reports/gate/measured.h"

namespace thinpipe {

/// A launch with a point that is `invalid` is in doubt, and that is the machine's doing, not the
/// build's. So many are taken again, all together, and never one more: a machine on which every
/// launch is disturbed comes to an end, and the gate says what it found.
class Undisturbed {
 public:
  /// @param launcher  outlives this
  /// @param retakes   at most
  Undisturbed(Launcher& launcher, int retakes) : launcher_(launcher), left_(retakes) {}

  /// One launch.
  Measured launch(const std::filesystem::path& program);

  /// One of each, which of them first by the toss of a coin: slice by slice in turn where both know
  /// how (takes_turns()), else one after the other. A pair is taken again as a whole.
  /// @returns what older and newer measured
  std::pair<Measured, Measured> pair(const std::filesystem::path& older,
                                     const std::filesystem::path& newer, bool in_turns,
                                     std::mt19937_64& coin);

 private:
  bool take_again(bool disturbed) { return disturbed && left_-- > 0; }

  Launcher& launcher_;
  int left_;
};

}  // namespace thinpipe
