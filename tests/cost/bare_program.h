// The plain MPI program that the harness is held against (bare_ring_main.cc), block by block.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/launch/machines.h"

namespace thinpipe {

/// What it measured of one step, in seconds.
struct BareStep {
  double took = 0;       ///< on its slowest rank
  double since_end = 0;  ///< of the step before: took, and what lies between
};

/// One launch of it. While it is not asked for a block, its ranks sleep.
class BareProgram {
 public:
  /// @param program  path of bare_ring
  /// @param scratch  a folder for its FIFOs and what it prints
  /// @param arguments  elements, blocks, steps of each, wait, congestion control
  BareProgram(Machines& machines, const std::string& program, const std::string& scratch, int ranks,
              const std::vector<std::string>& arguments);
  ~BareProgram();
  BareProgram(const BareProgram&) = delete;
  BareProgram& operator=(const BareProgram&) = delete;

  /// Runs the next block. @throws RunError when the program ends, or says nothing for a minute.
  void run_block();
  /// Waits for its end. @returns all steps @throws RunError when its sum was wrong.
  std::vector<BareStep> finish();

 private:
  void start(std::vector<std::string> command);
  void await_done();

  std::string output_;
  std::vector<int> gates_;
  int done_ = -1;
  pid_t child_ = -1;
};

}  // namespace thinpipe
