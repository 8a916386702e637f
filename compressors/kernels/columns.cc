// Processes one row at a time, so that the statistics of the columns stay in the cache.
#include "compressors/kernels/quantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/columns.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void AddBySign(const float* HWY_RESTRICT x, std::size_t n, float* HWY_RESTRICT positive,
               float* HWY_RESTRICT negative, float* HWY_RESTRICT counts) {
  ForEachVector(n, [&](auto d, std::size_t j) {
    const auto value = hn::LoadU(d, x + j);
    const auto below = hn::Lt(value, hn::Zero(d));
    const auto add = [&](float* to, auto term) {
      hn::StoreU(hn::Add(hn::LoadU(d, to + j), term), d, to + j);
    };
    add(positive, hn::IfThenZeroElse(below, value));
    add(negative, hn::IfThenElseZero(below, value));
    add(counts, hn::IfThenZeroElse(below, hn::Set(d, 1.0F)));
  });
}

void Leave(const float* c, std::size_t n, const float* HWY_RESTRICT positive,
           const float* HWY_RESTRICT negative, float* left) {
  ForEachVector(n, [&](auto d, std::size_t j) {
    const auto x = hn::LoadU(d, c + j);
    const auto below = hn::Lt(x, hn::Zero(d));
    const auto decoded =
        hn::IfThenElse(below, hn::LoadU(d, negative + j), hn::LoadU(d, positive + j));
    StoreLeft(d, x, decoded, left, j);
  });
}

void AddRow(const std::uint8_t* HWY_RESTRICT bits, std::size_t n,
            const float* HWY_RESTRICT positive, const float* HWY_RESTRICT negative, float factor,
            float* HWY_RESTRICT out) {
  ForEachVector(n, [&](auto d, std::size_t j) {
    const auto value = hn::IfThenElse(LoadBits(d, bits, j), hn::LoadU(d, negative + j),
                                      hn::LoadU(d, positive + j));
    const auto term = hn::Mul(value, hn::Set(d, factor));
    hn::StoreU(hn::Add(hn::LoadU(d, out + j), term), d, out + j);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AddBySign);
HWY_EXPORT(Leave);
HWY_EXPORT(AddRow);
}  // namespace

void add_row_by_sign(const float* x, std::size_t n, float* positive, float* negative,
                     float* counts) {
  HWY_DYNAMIC_DISPATCH(AddBySign)(x, n, positive, negative, counts);
}

void leave_row(const float* c, std::size_t n, const float* positive, const float* negative,
               float* left) {
  HWY_DYNAMIC_DISPATCH(Leave)(c, n, positive, negative, left);
}

void add_row(const std::uint8_t* bits, std::size_t n, const float* positive, const float* negative,
             float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(AddRow)(bits, n, positive, negative, factor, out);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
