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

/// Work to time.
struct Timed {
  std::string name;               ///< unique within one measure()
  double elements = 0;            ///< of one call, for ns/element
  double bytes = 0;               ///< of the d elements of one call, for GB/s; 0: no GB/s
  std::function<void()> prepare;  ///< before each repetition, not timed
  std::function<void()> call;
  std::map<std::string, double> counters = {};  ///< copied to its rows; no NaN
  double min_time = 0;                          ///< s, of one repetition; 0: BenchOptions::min_time
  int every = 1;                                ///< when taking turns: rounds for each slice
};

/// Result of one Timed.
struct Timing {
  std::vector<double> seconds;  ///< of one call, by repetition
  /// For each of `seconds`, the number of earlier repetitions of all subjects in this run.
  std::vector<std::size_t> order;
  double allocations = -1;  ///< of one call: the greatest of all repetitions; -1: not counted
  std::string error;        ///< that stopped it; all else is then invalid
  /// Counts the allocations made during `calls` calls and returns the mean number for one call.
  /// @param before  allocations() before these calls
  std::optional<double> count_allocations(std::optional<std::uint64_t> before, std::int64_t calls);
};

using Timings = std::map<std::string, Timing>;  ///< by Timed::name

/// Runs `work`, and stores its exception as the timing's error. Does nothing after an error.
template <class AnyTiming, class Work>
void guard_timing(AnyTiming& timing, Work work) {
  if (!timing.error.empty()) return;
  try {
    work();
  } catch (const std::exception& error) {
    timing.error = error.what();
  }
}

/// Returns the number of calls of operator new so far in the whole process. The difference before
/// and after an encode is the encode's number of allocations. Returns nothing in programs that do
/// not count these calls. The program `thinpipe` counts them (allocation_count_main.cc).
std::optional<std::uint64_t> allocations();

/// Makes allocations() read this counter; for the program that counts.
void count_allocations_in(const std::atomic<std::uint64_t>& counter);

/// Returns true after the user has pressed Ctrl-C; the second Ctrl-C ends the program.
bool interrupted();
void watch_for_interrupt();

// This process can take turns, slice by slice, with another process that times the same work. A
// disturbance of the machine then affects both processes within a few milliseconds. `thinpipe gate`
// gives the turns.

/// This process's end of a stream socket, by which it takes turns with another process. Every
/// message is a number of 8 bytes in the machine's byte order, and so is its answer. 0 requests a
/// turn. Any other number is a proposal, and the answer is the number that applies to both
/// processes.
class Turns {
 public:
  /// @param socket  remains the caller's @throws InputError when it is no socket
  explicit Turns(int socket);

  /// Returns the larger of the two sides' proposals. @param number  above 0
  std::uint64_t agree(std::uint64_t number) { return ask(number); }
  /// Waits for this side's turn, which lasts until the next take(), agree() or the process's end.
  void take() { ask(0); }

 private:
  /// @throws RunError when the other end is closed, or when interrupted() while waiting.
  std::uint64_t ask(std::uint64_t number);

  int socket_;
};

/// Measures in rounds, without Google Benchmark. In each round every Timed has one slice of at
/// least 2 ms, after one untimed call. The seed decides the order of slices, which is the same in
/// both processes. A slice gives one value, so both processes take their value i within
/// milliseconds of each other. The rounds fill the time that all repetitions of min_time would
/// take, up to 1000. There is at least one round for each repetition. A Timed may leave out rounds
/// (Timed::every).
Timings measure_in_turns(const std::vector<Timed>& what, const BenchOptions& options, Turns& turns,
                         const std::function<void(const std::string&)>& progress);

/// Gives turns to two processes started with --turns that measure the same work, slice by slice,
/// until both have closed their ends or stop_requested(). Each pair of slices begins when both
/// sides are ready; a coin decides which side is first. When one side has ended, the other
/// continues alone.
/// @param first,second  this process's ends of their sockets
void give_turns(int first, int second, std::mt19937_64& coin);

}  // namespace thinpipe
