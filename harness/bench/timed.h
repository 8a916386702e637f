// What is timed, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

/// What came of one Timed.
struct Timing {
  std::vector<double> seconds;  ///< of one call: one value a repetition
  /// Of `seconds`: how many repetitions, of all that were timed in this run, came before it.
  std::vector<std::size_t> order;
  double allocations = -1;  ///< of one call: the most of all repetitions; -1: not counted
  std::string error;        ///< what stopped it; then the rest does not count
  double median() const;    ///< s; NaN without repetitions
  /// After so many calls. @param before  allocations() before them @returns those of one call
  std::optional<double> count_allocations(std::optional<std::uint64_t> before, std::int64_t calls);
};

using Timings = std::map<std::string, Timing>;  ///< by Timed::name

}  // namespace thinpipe
