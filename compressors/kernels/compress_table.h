// For every mask of N lanes, the lanes that it selects, in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thinpipe {

template <std::size_t N>
using CompressTable = std::array<std::array<std::int32_t, N>, std::size_t{1} << N>;

/// Returns the table. Row `bits` has the indices of the set bits in order, then zeros.
template <std::size_t N>
constexpr CompressTable<N> make_compress_table() {
  CompressTable<N> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < N; ++lane) {
      if ((bits >> lane & 1) != 0) table[bits][count++] = static_cast<std::int32_t>(lane);
    }
  }
  return table;
}

alignas(64) inline constexpr CompressTable<8> kCompressTable8 = make_compress_table<8>();
alignas(64) inline constexpr CompressTable<4> kCompressTable4 = make_compress_table<4>();

}  // namespace thinpipe
