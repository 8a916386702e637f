// The programs of a job's ranks: their output, and their end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/host.h"
#include "netem/host_program.h"

namespace thinpipe {

/// A program whose output is printed to stdout line by line, with the rank in front: "[3] step 20".
class RankProgram {
 public:
  /// @param prefix  of each line; "" for mpirun, whose own tags (--tag-output) become such prefixes
  /// @throws InputError when there is no such program
  RankProgram(const Host& host, const std::vector<std::string>& words, std::string prefix);

  /// Returns the descriptor of the output; -1 at its end.
  int descriptor() const { return reading_.valid() ? reading_.get() : -1; }
  /// Prints the lines that can be read without waiting.
  void print_output();
  /// Returns false for mpirun, which reports failures of its ranks itself.
  bool is_rank() const { return !prefix_.empty(); }
  std::optional<int> exit_code() { return program_->exit_code(); }
  void signal(int number) { program_->signal(number); }

 private:
  void print_line();

  std::string prefix_;
  std::string line_;
  FileDescriptor reading_;
  std::unique_ptr<HostProgram> program_;
};

/// Returns a line of `mpirun --tag-output` with the rank in front: "[2] text" of
/// "[1,2]<stdout>:text". Other lines are unchanged.
std::string with_rank_in_front(const std::string& line);

using RankPrograms = std::vector<std::unique_ptr<RankProgram>>;

/// Runs the programs until all have ended, and prints their output. The first program that fails,
/// or a requested stop, ends the others.
/// @returns the first failure's exit code, 128 plus the number of a stop signal, or 0
int run_ranks(RankPrograms& programs);

}  // namespace thinpipe
