// Hosts that compute longer than the trace: always, by chance, or slightly differently in each
// step. docs/stragglers.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// Hosts that are slower than the trace, from a text such as
/// `host3:compute=2;hosts:jitter=0.2,dist=exponential`. Each entry is for one host, for a range of
/// hosts (`host4-7`) or for all (`hosts`). If several entries name a host, all of them apply, on
/// top of each other. Every draw depends only on the entry's seed, the host and the step, so it is
/// the same for all points of a sweep.
class Stragglers {
 public:
  Stragglers() = default;  ///< none

  /// Parses `none`, or entries joined by `;`.
  /// @throws InputError naming the entry, the key, the value found and the expected values
  static Stragglers parse(std::string_view text);
  /// Returns the cross product of all entries' alternatives, which `|` separates within a value.
  static std::vector<Stragglers> expand(std::string_view text);

  bool empty() const { return parts_.empty(); }
  /// Returns the canonical text, which parse() reads; `none` when empty.
  std::string to_string() const;

  /// Returns a host's compute time in a step, in s, where the trace has `seconds`.
  double compute(double seconds, int host, std::uint64_t step) const;
  /// Returns a bound of compute(), in s, which fewer than one draw in 10^6 exceeds. It is meant for
  /// timeouts, not for figures.
  double longest(double seconds) const;

  /// Checks the entries' hosts. @throws InputError when an entry names a host beyond the last of
  /// `hosts`
  void check(int hosts) const;

 private:
  enum class Distribution { kLognormal, kExponential, kUniform };
  struct Part {
    Spec spec;
    int first = 0, last = -1;  ///< hosts; last -1: all from `first` on
    double factor = 1;
    double jitter = 0;  ///< standard deviation of the factor, as a fraction of its mean
    Distribution distribution = Distribution::kLognormal;
    double stall = 0;   ///< s
    double chance = 1;  ///< that the entry applies in a step
    std::uint64_t seed = 1;
    bool is_of(int host) const { return host >= first && (last < 0 || host <= last); }
  };
  static Part part_of(const Spec& spec);
  static double drawn_factor(const Part& part, std::uint64_t draw);

  std::vector<Part> parts_;
};

}  // namespace thinpipe
