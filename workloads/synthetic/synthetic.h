// Traces of gradients that are drawn, not captured; docs/synthetic.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/synthetic/spec.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// The trace that a spec describes. Nothing is drawn before it is asked for; "fit" reads its
/// captured trace once, now.
/// @throws InputError for a captured trace that cannot be opened.
Trace make_synthetic(const SyntheticSpec& spec);

/// A trace's folder, or the text of a synthetic one. @throws InputError
Trace open_gradients(const std::filesystem::path& folder_or_text);

/// The same place, such that processes in other folders find it: an absolute path, or the text with
/// everything written out. @throws InputError for a bad text.
std::string absolute_gradients(const std::filesystem::path& folder_or_text);

/// {rows, columns}, as square as the number of elements allows: methods that see a matrix need one.
std::vector<std::int64_t> nearly_square(std::size_t elements);

/// For every tensor of a model, the captured tensor of its kind (matrices and larger, or vectors)
/// that lies at the same relative depth among those of that kind; of any kind where there is none.
/// @param captured  at least one
std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured);

}  // namespace thinpipe
