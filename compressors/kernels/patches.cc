// Copies rectangles of a matrix to chunks and back, a row at a time. A chunk is small and in the
// caches.
#include <limits>

#include "compressors/kernels/transforms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/patches.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Prefetches the same row of the chunk to the right, which is probably next. The rows of a chunk
/// are too short for the hardware's prefetchers.
HWY_INLINE void AskNextChunk(const Patch& patch, const float* at) {
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(at + patch.columns, 0, kSecondLevel);
}

/// Calls row(offset in the matrix, offset in the chunk) for every row.
template <class Row>
HWY_INLINE void ForEachRow(const Patch& patch, Row row) {
  for (std::size_t y = 0; y < patch.rows; ++y) row(y * patch.step, y * patch.chunk_step);
}

void Take(const Patch& patch, const float* matrix, float* HWY_RESTRICT chunk) {
  ForEachRow(patch, [&](std::size_t from, std::size_t to) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + from + i);
      const auto most = hn::Set(d, kMaxDctInput);
      const auto x = hn::LoadU(d, matrix + from + i);
      const auto limited = hn::Max(hn::Min(x, most), hn::Neg(most));
      hn::StoreU(hn::IfThenZeroElse(hn::IsNaN(x), limited), d, chunk + to + i);
    });
  });
}

void Leave(const Patch& patch, const float* matrix, const float* HWY_RESTRICT chunk, float* left) {
  ForEachRow(patch, [&](std::size_t at, std::size_t from) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + at + i);
      StoreLeft(d, hn::LoadU(d, matrix + at + i), hn::LoadU(d, chunk + from + i), left + at, i);
    });
  });
}

void Add(const Patch& patch, const float* HWY_RESTRICT chunk, float factor, float* matrix) {
  ForEachRow(patch, [&](std::size_t at, std::size_t from) HWY_ATTR {
    ForEachVector(patch.columns, [&](auto d, std::size_t i) HWY_ATTR {
      AskNextChunk(patch, matrix + at + i);
      const auto term = hn::Mul(hn::Set(d, factor), hn::LoadU(d, chunk + from + i));
      hn::StoreU(hn::Add(hn::LoadU(d, matrix + at + i), term), d, matrix + at + i);
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Take);
HWY_EXPORT(Leave);
HWY_EXPORT(Add);
}  // namespace

void take_dct_input(const Patch& patch, const float* matrix, float* chunk) {
  HWY_DYNAMIC_DISPATCH(Take)(patch, matrix, chunk);
}
void leave_decoded(const Patch& patch, const float* matrix, const float* chunk, float* left) {
  HWY_DYNAMIC_DISPATCH(Leave)(patch, matrix, chunk, left);
}
void add_decoded(const Patch& patch, const float* chunk, float factor, float* matrix) {
  HWY_DYNAMIC_DISPATCH(Add)(patch, chunk, factor, matrix);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
