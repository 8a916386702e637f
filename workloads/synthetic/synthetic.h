// Traces of drawn gradients; docs/synthetic.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/synthetic/spec.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

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
