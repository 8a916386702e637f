// Hosts that compute longer than the trace says: always, by chance, or a little differently in each
// step. docs/stragglers.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// `host3:compute=2;hosts:jitter=0.2,dist=exponential`: parts, each of a host, of some (`host4-7`)
/// or of all (`hosts`). A host of several parts has all of them, one on top of the other. Every
/// draw depends on the part's seed, the host and the step alone: all points of a sweep meet the
/// same.
class Stragglers {
 public:
  Stragglers() = default;  ///< nobody

  /// `none`, or parts joined by `;`.
  /// @throws InputError naming the part, the key, what was found and what is expected
  static Stragglers parse(std::string_view text);
  /// Alternatives by `|` between values, of all parts the cross product.
  static std::vector<Stragglers> expand(std::string_view text);

  bool empty() const { return parts_.empty(); }
  /// Canonical text that parse() reads back; `none` when empty.
  std::string to_string() const;

  /// s that a host computes in a step for which the trace has `seconds`.
  double compute(double seconds, int host, std::uint64_t step) const;
  /// s that a step computes at most, but for one draw in 10^6 or so: for patience, not for figures.
  double longest(double seconds) const;

  /// @throws InputError when a part names a host that a network of so many has not
  void check(int hosts) const;

 private:
  enum class Distribution { kLognormal, kExponential, kUniform };
  struct Part {
    Spec spec;
    int first = 0, last = -1;  ///< hosts; last -1: all from `first` on
    double factor = 1;
    double jitter = 0;  ///< standard deviation of the factor, as a share of its mean
    Distribution distribution = Distribution::kLognormal;
    double stall = 0;   ///< s
    double chance = 1;  ///< that the part holds in a step
    std::uint64_t seed = 1;
    bool is_of(int host) const { return host >= first && (last < 0 || host <= last); }
  };
  /// Factor on a step's compute time, and s by which everything in the step is later (stalls).
  struct Slowdown {
    double factor = 1;
    double stall = 0;
  };

  static Part part_of(const Spec& spec);
  static double drawn_factor(const Part& part, std::uint64_t draw);
  Slowdown slowdown(int host, std::uint64_t step) const;

  std::vector<Part> parts_;
};

}  // namespace thinpipe
