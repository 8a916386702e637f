// The text that stands for a synthetic trace wherever a trace's folder could stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// A parsed `synthetic:model=vgg19,dist=laplace,scale=1e-3,workers=4,steps=10,seed=1`;
/// docs/synthetic.md describes the keys.
struct SyntheticSpec {
  std::string model;         ///< of the catalogue; or
  std::size_t elements = 0;  ///< of a single tensor; neither where a fit's tensors are its trace's
  std::string distribution = "laplace";  ///< a family, or "fit"
  FamilyParameters family;
  double scale = 1e-3;  ///< of a family
  std::string trace;    ///< folder that "fit" draws like; absolute
  std::size_t workers = 4;
  std::size_t steps = 10;
  double rho_step = 0;    ///< correlation of a value with the same element's a step before
  double rho_worker = 0;  ///< and with that of another worker in the same step
  std::uint64_t seed = 1;

  bool is_fit() const { return distribution == "fit"; }
  bool correlated() const { return rho_step > 0 || rho_worker > 0; }

  /// The text with everything that has a meaning, defaults too, in one order. It can be parsed.
  std::string to_string() const { return text(trace); }
  /// The same with another text in place of the trace's folder.
  std::string text(const std::string& in_place_of_trace) const;
};

/// Whether a text is meant as one: it begins with "synthetic:".
bool is_synthetic(std::string_view text);

/// @throws InputError naming the key, what was found and what is expected.
SyntheticSpec parse_synthetic_spec(std::string_view text);

}  // namespace thinpipe
