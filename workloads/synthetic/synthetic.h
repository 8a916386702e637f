// Traces of drawn gradients, and the text that describes one, accepted wherever a trace folder is;
// docs/synthetic.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/synthetic/magnitudes.h"
#include "workloads/trace/trace.h"

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

/// Returns the trace that a spec describes. Gradients are drawn on request. For the distribution
/// "fit", only this call reads the captured trace to which the distribution is fitted.
/// @throws InputError for a captured trace that cannot be opened.
Trace make_synthetic(const SyntheticSpec& spec);

/// Opens a trace's folder, or the trace that a synthetic text describes. @throws InputError
Trace open_gradients(const std::filesystem::path& folder_or_text);

/// Returns an equivalent name of the trace that is valid in every working folder: the absolute path
/// of a trace's folder, or the canonical text of a synthetic trace. @throws InputError for a bad
/// text.
std::string absolute_gradients(const std::filesystem::path& folder_or_text);

/// Returns {rows, columns}, as square as the number of elements allows, for methods that need a
/// matrix.
std::vector<std::int64_t> nearly_square(std::size_t elements);

/// Matches every tensor of a model with a captured tensor, and returns the indices of the captured
/// tensors. There are two kinds of tensors: vectors, and those of more dimensions. A match is of
/// the same kind and at the same relative depth among the tensors of this kind. If no captured
/// tensor is of this kind, the other kind is used.
/// @param captured  at least one tensor
std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured);

}  // namespace thinpipe
