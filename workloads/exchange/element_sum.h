// What an all-reduce does to the elements of two arrays.
#pragma once

#include <cstddef>
#include <span>

#include "compressors/element_type.h"

namespace thinpipe {

/// sums = (a + b) * scale. 16-bit elements are added and multiplied in 32 bits and rounded once,
/// and then every NaN is the same one. All of one size in bytes, aligned as the elements are;
/// `sums` is apart from `b`, and is `a` or apart from it.
void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums);

/// out = a * scale, rounded likewise.
void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out);

}  // namespace thinpipe
