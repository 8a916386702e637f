// Adds up a tensor block by block, in the order of moments_order.h.
#pragma once

#include <array>
#include <cstddef>

#include "compressors/kernels/moments_order.h"
#include "compressors/kernels/parallel.h"

namespace thinpipe {

/// Adds up n elements by blocks(begin, count, rows, part), neighbours of `rows` rows a stream each,
/// and one(i, part) for the last few. @tparam Part  has join(other)
template <class Part, class Blocks, class One>
Part add_blocks(std::size_t n, Blocks blocks, One one) {
  const std::size_t count = n / kMomentBlock;
  // A block of as many whole rows as are left, then less than a row of each stream.
  const std::size_t begin = count * kMomentBlock;
  const std::size_t rows = (n - begin) / kMomentPartials;
  Part total;
  blocks(begin, rows > 0 ? 1 : 0, rows, total);
  // Of a tensor that is no block long (one of many that THC rotates) parts would be what takes
  // time.
  if (count > 0) {
    std::array<Part, kMomentParts> parts;
    parallel_parts(kMomentParts, threads_for(n), [&](std::size_t part) {
      const std::size_t from = count * part / kMomentParts;
      blocks(from * kMomentBlock, count * (part + 1) / kMomentParts - from, kMomentBlockRows,
             parts[part]);
    });
    for (const Part& part : parts) total.join(part);
  }
  for (std::size_t i = begin + rows * kMomentPartials; i < n; ++i) one(i, total);
  return total;
}

}  // namespace thinpipe
