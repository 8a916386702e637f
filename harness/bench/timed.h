// Timed work and its results; timing in turns with another process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/bench/options.h"

namespace thinpipe {

/// Something to time.
struct Timed {
  std::string name;               ///< unique within one measure()
  double elements = 0;            ///< of one call, for ns/element
  double bytes = 0;               ///< of the d elements of one call, for GB/s
  std::function<void()> prepare;  ///< before each repetition, not timed
  std::function<void()> call;
  std::map<std::string, double> counters = {};  ///< go into its rows as they are; no NaN
  double min_time = 0;                          ///< s, of one repetition; 0: BenchOptions::min_time
  int every = 1;  ///< when taking turns: it has a slice in one of so many rounds
};

/// Result of one Timed.
struct Timing {
  std::vector<double> seconds;  ///< of one call: one value a repetition
  /// For each of `seconds`, how many repetitions of all in this run came before it.
  std::vector<std::size_t> order;
  double allocations = -1;  ///< of one call: the most of all repetitions; -1: not counted
  std::string error;        ///< what stopped it; then the rest does not count
  /// After so many calls. @param before  allocations() before them @returns those of one call
  std::optional<double> count_allocations(std::optional<std::uint64_t> before, std::int64_t calls);
};

using Timings = std::map<std::string, Timing>;  ///< by Timed::name

/// An exception of `work` stops this one alone: it becomes its error. Does nothing after one.
template <class AnyTiming, class Work>
void guard_timing(AnyTiming& timing, Work work) {
  if (!timing.error.empty()) return;
  try {
    work();
  } catch (const std::exception& error) {
    timing.error = error.what();
  }
}

/// Calls of operator new in the whole process, so that a bench can say what an encode asks for;
/// nothing in programs that do not count them. The program `thinpipe` does
/// (allocation_count_main.cc).
std::optional<std::uint64_t> allocations();

/// For the program that counts: from now on allocations() reads this.
void count_allocations_in(const std::atomic<std::uint64_t>& counter);

/// True once the user has pressed Ctrl-C; the second time ends the program.
bool interrupted();
void watch_for_interrupt();

// Taking turns with another process that times the same, slice by slice: whatever the machine does
// to one side it does to the other a few milliseconds later. `thinpipe gate` gives the turns.

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

/// Lets two processes that measure the same go one at a time, slice by slice. Serves two processes
/// that were started with --turns until both have closed their ends or stop_requested(). Each pair
/// of slices begins when both sides are ready for it; the toss of a coin says which goes first.
/// When one side has ended, the other goes on alone.
/// @param first,second  this process's ends of their sockets
void give_turns(int first, int second, std::mt19937_64& coin);

}  // namespace thinpipe
