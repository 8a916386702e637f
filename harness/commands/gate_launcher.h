// Measures by starting thinpipe itself, this build or another, and reading the records it leaves.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reports/gate/measured.h"

namespace thinpipe {

class Launcher {
 public:
  /// @param words  a verb that takes --out, and its arguments: {"bench", "-c", "topk"}
  /// @param scratch  a folder for what launches leave
  /// @throws InputError when it is no such verb, or when --out is among the words
  Launcher(std::vector<std::string> words, std::filesystem::path scratch);

  /// One launch in a process of its own, its records in a new folder. Its output is kept for
  /// complaints. Points that failed are in the result; it is an error only when there are no
  /// records.
  /// @throws InputError for what it calls a usage error (exit code 2), RunError when it ended
  /// otherwise without records, or when stop_requested(): by then it has ended.
  Measured launch(const std::filesystem::path& program);

  /// Whether this build of thinpipe knows how to take turns at what is to be measured.
  bool takes_turns(const std::filesystem::path& program);
  /// One launch of each at the same time, which measure slice by slice in turn: value i of the one
  /// and of the other are of neighbouring moments. Errors as launch().
  /// @returns what older and newer measured
  std::pair<Measured, Measured> launch_in_turns(const std::filesystem::path& older,
                                                const std::filesystem::path& newer,
                                                std::mt19937_64& coin);

  /// Where the records of the last launch are, until the next.
  const std::filesystem::path& last_records() const { return last_; }

 private:
  struct Started;
  Started start(const std::filesystem::path& program, int input);
  Measured finish(const Started& started);
  void forget_last();

  std::vector<std::string> words_;
  std::filesystem::path scratch_;
  std::filesystem::path last_;
  int launches_ = 0;
};

/// Launches for a gate, of which those that the machine disturbed are taken again. A launch with a
/// point that is `invalid` is in doubt, and that is the machine's doing, not the build's. So many
/// are taken again, all together, and never one more: a machine on which every launch is disturbed
/// comes to an end, and the gate says what it found.
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
