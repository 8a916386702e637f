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

/// Returns the trace that a spec describes. Gradients are drawn on request. "fit" reads its
/// captured trace once, in this call.
/// @throws InputError for a captured trace that cannot be opened.
Trace make_synthetic(const SyntheticSpec& spec);

/// Opens a trace's folder, or the trace that a synthetic text describes. @throws InputError
Trace open_gradients(const std::filesystem::path& folder_or_text);

/// Returns an equivalent that is valid in every working folder: an absolute path or the canonical
/// text. @throws InputError for a bad text.
std::string absolute_gradients(const std::filesystem::path& folder_or_text);

/// Returns {rows, columns}, as square as the number of elements allows, for methods that need a
/// matrix.
std::vector<std::int64_t> nearly_square(std::size_t elements);

/// Returns, for every tensor of a model, the index of the captured tensor of its kind (vectors, or
/// matrices and larger) at the same relative depth among the tensors of that kind. Without a
/// captured tensor of that kind, the other kind is used.
/// @param captured  at least one tensor
std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured);

}  // namespace thinpipe
