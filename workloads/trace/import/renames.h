// Other names for imported tensors, and which of them to take.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

/// Pairs of an old name and a new one. A * in the old stands for anything, and is kept where the
/// new one has a *: "module.*" and "*" cut a prefix off.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// @param texts "OLD=NEW". @throws InputError
Renames parse_renames(const std::vector<std::string>& texts);

/// `name` by the first that fits; else itself.
std::string renamed(const std::string& name, const Renames& renames);

/// Whether one of the globs fits, or there is none.
bool is_wanted(const std::string& name, const std::vector<std::string>& globs);

}  // namespace thinpipe
