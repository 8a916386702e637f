// Products of a tall matrix with a few columns (PowerSGD), the same bits on every machine.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

/// A row-major matrix and factors of rank r. Factors are stored by columns: p holds r arrays of
/// `rows` floats, q r arrays of `columns`.
struct LowRankShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;
};

/// p = m q. Every dot product goes through 16 partial sums in float, then their sum in order.
void low_rank_left(const LowRankShape& shape, const float* m, const float* q, float* p);

/// q = m^T p: row after row of a stretch, then stretch after stretch (low_rank_order.h).
/// @param room  low_rank_room() floats, which are overwritten
void low_rank_right(const LowRankShape& shape, const float* m, const float* p,
                    std::span<float> room, float* q);
std::size_t low_rank_room(const LowRankShape& shape);

/// out += factor * (p q^T), the sum over the rank in order.
void low_rank_add(const LowRankShape& shape, const float* p, const float* q, float factor,
                  float* out);

/// left = m - p q^T, 0 where that is not finite; `left` may be m.
void low_rank_subtract(const LowRankShape& shape, const float* p, const float* q, const float* m,
                       float* left);

}  // namespace thinpipe
