// How the collective `twoshot` cuts an array into slices, one for each rank.
#pragma once

#include <cstddef>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// Returns the grain of slices, in elements: arrays are cut only between grains. A method has one
/// scale for each grain, or selects elements within each grain (its parameter `block`, `bucket` or
/// `chunk`). Returns 1 if the method has none of these parameters. @throws InputError as check_spec
std::size_t slice_grain(const Spec& compressor);

/// Returns the end of each slice, in elements; the last is `elements`. Slices differ by less than
/// two grains, and the longer ones come first; the last may end within a grain. If slices would
/// have less than 1024 elements or less than a grain on average, there are fewer than `ranks` of
/// them; there is always one.
/// @throws InputError as check_spec
std::vector<std::size_t> slice_ends(const Spec& compressor, std::size_t elements,
                                    std::size_t ranks);

}  // namespace thinpipe
