// The share of the elements that a method is asked to send, as an axis of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// k / d that the spec asks for: `ratio`, or `p` as SBC's paper calls it; nothing for methods that
/// are not asked for one. @throws InputError for bad specs.
std::optional<double> ratio_of(const Spec& spec);

/// Every spec with every ratio, in the order of the specs. Those that have a ratio of their own, or
/// whose method takes none, are there once, as they are; nothing is there twice.
/// @param ratios  values as a spec has them, "0.01"; empty: the specs as they are
/// @throws InputError for a bad ratio, or when no spec takes one.
std::vector<Spec> with_ratios(const std::vector<Spec>& specs,
                              const std::vector<std::string>& ratios);

}  // namespace thinpipe
