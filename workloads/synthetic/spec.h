// The text that describes a synthetic trace, accepted wherever a trace folder is.
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
  std::string model;         ///< name in the catalogue; or
  std::size_t elements = 0;  ///< of a single tensor; without both, a fit has its trace's tensors
  std::string distribution = "laplace";  ///< a family, or "fit"
  FamilyParameters family;
  double scale = 1e-3;  ///< of a family
  std::string trace;    ///< folder that "fit" imitates; absolute
  std::size_t workers = 4;
  std::size_t steps = 10;
  double rho_step = 0;    ///< correlation of an element's values in consecutive steps
  double rho_worker = 0;  ///< correlation of an element's values on two workers in one step
  std::uint64_t seed = 1;

  bool is_fit() const { return distribution == "fit"; }
  bool correlated() const { return rho_step > 0 || rho_worker > 0; }

  /// Returns the canonical text: all relevant keys, defaults too, in a fixed order. It can be
  /// parsed.
  std::string to_string() const { return text(trace); }
  /// Returns the canonical text with another text in place of the trace's folder.
  std::string text(const std::string& in_place_of_trace) const;
};

/// Returns whether a text describes a synthetic trace: it begins with "synthetic:".
bool is_synthetic(std::string_view text);

/// Parses a text. @throws InputError naming the key, what was found and what is expected.
SyntheticSpec parse_synthetic_spec(std::string_view text);

}  // namespace thinpipe
