// Measures by starting thinpipe, this build or another one, and reading its records.
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
  /// @param words    a verb that takes --out, and its arguments: {"bench", "-c", "topk"}
  /// @param scratch  folder for the records of the launches
  /// @throws InputError for any other verb, and for --out among the words
  Launcher(std::vector<std::string> words, std::filesystem::path scratch);

  /// Runs one launch in a separate process, with its records in a new folder. Error messages quote
  /// the output of the process. Failed points are part of the result; only a launch without records
  /// is an error.
  /// @throws InputError if the launch reports a usage error (exit code 2); RunError if the launch
  /// ends without records. After stop_requested(), waits for the end of the launch and then throws
  /// RunError.
  Measured launch(const std::filesystem::path& program);

  /// Returns whether this build of thinpipe can interleave the measurement (bench --turns).
  bool takes_turns(const std::filesystem::path& program);
  /// Launches both programs at the same time, with interleaved timings: value i of one program and
  /// value i of the other are measured one right after the other. Throws the same errors as
  /// launch().
  /// @returns the results of older and newer
  std::pair<Measured, Measured> launch_in_turns(const std::filesystem::path& older,
                                                const std::filesystem::path& newer,
                                                std::mt19937_64& coin);

  /// Returns the record file of the last launch, valid until the next launch.
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

/// Launches for a gate. Repeats a launch that has an `invalid` point, because the machine and not
/// the build causes such points. The total number of repetitions is limited, so that a gate ends
/// on a machine that disturbs every launch.
class Undisturbed {
 public:
  /// @param launcher  outlives this object
  /// @param retakes   maximum number of repeated launches or pairs
  Undisturbed(Launcher& launcher, int retakes) : launcher_(launcher), left_(retakes) {}

  /// Runs one launch.
  Measured launch(const std::filesystem::path& program);

  /// Runs one launch of each program in random order: interleaved if both support that
  /// (takes_turns()), else one after the other. A disturbed pair is repeated as a whole.
  /// @returns the results of older and newer
  std::pair<Measured, Measured> pair(const std::filesystem::path& older,
                                     const std::filesystem::path& newer, bool in_turns,
                                     std::mt19937_64& coin);

 private:
  bool take_again(bool disturbed) { return disturbed && left_-- > 0; }

  Launcher& launcher_;
  int left_;
};

}  // namespace thinpipe
