// Taking turns with another process that times the same, slice by slice: whatever the machine does
// to one side it does to the other a few milliseconds later. `thinpipe gate` gives the turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/timed.h"

namespace thinpipe {

/// This side's end of a stream socket. Every message is a number of 8 bytes in the machine's order
/// that is answered by one: 0 asks for a turn, another proposes a number that both sides then use.
class Turns {
 public:
  /// @param socket  stays the caller's @throws InputError when it is none
  explicit Turns(int socket);

  /// @param number  above 0 @returns the larger of what the two sides propose
  std::uint64_t agree(std::uint64_t number);
  /// Waits for this side's turn, which lasts until the next take(), agree() or the process's end.
  void take();

 private:
  /// @throws RunError when the other end is gone, or when interrupted() while waiting.
  std::uint64_t ask(std::uint64_t number);

  int socket_;
};

/// As measure(), in rounds: in each every Timed has a slice of at least 2 ms, after one call that
/// is not timed, in an order that the seed decides, the same on both sides. A slice gives one
/// value, so that value i of one side and of the other are of neighbouring moments. There are as
/// many rounds as repetitions of min_time take, at least one a repetition. Google Benchmark has
/// no part in it.
Timings measure_in_turns(const std::vector<Timed>& what, const BenchOptions& options, Turns& turns,
                         const std::function<void(const std::string&)>& progress);

}  // namespace thinpipe
