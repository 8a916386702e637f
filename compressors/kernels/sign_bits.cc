// Packs signs: the masks of comparisons are the bits. For the columns of a matrix, one row is
// processed at a time, so that the statistics of the columns stay in the cache.
#include "compressors/kernels/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"
#include "compressors/wire/scale.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/sign_bits.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/source-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_SIGN_BITS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_SIGN_BITS_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kLanes = 16;          // one vector of AVX-512, two of AVX2
constexpr std::size_t kRow = 2 * kLanes;    // two vectors, so that additions do not wait
constexpr std::size_t kBlock = kSignBlock;  // elements between two flushes into doubles
static_assert(kBlock == 64 * kRow && kRow == kSignLanes);
/// Any number of threads shares these parts.
constexpr std::size_t kParts = kSignParts;

/// Copies bytes. @returns the number of their set bits.
std::size_t put_bits(const std::uint8_t* bits, std::size_t bytes, std::uint8_t* out) {
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits + i, sizeof word);
    std::memcpy(out + i, &word, sizeof word);
    count += static_cast<std::size_t>(std::popcount(word));
  }
  for (; i < bytes; ++i) {
    count += static_cast<std::size_t>(std::popcount(bits[i]));
    out[i] = bits[i];
  }
  return count;
}

/// Replaces sums that are not finite by the sums of the finite elements. Sums are not finite where
/// elements are not finite or partial sums of huge values overflowed.
void repair(std::span<const float> x, SignScale scale, SignedSums& sums) {
  if (scale == SignScale::kMagnitude || std::isfinite(sums.positive - sums.negative)) return;
  sums.positive = sums.negative = 0;
  const std::size_t count = (x.size() + kBlock - 1) / kBlock;
  for (std::size_t part = 0; part < kParts; ++part) {
    SignedSums own;
    for (std::size_t i = count * part / kParts; i < count * (part + 1) / kParts; ++i) {
      const auto block = x.subspan(i * kBlock, std::min(kBlock, x.size() - i * kBlock));
      const SignedSums finite = finite_sums(block.data(), block.size());
      own.positive += finite.positive;
      own.negative += finite.negative;
    }
    sums.positive += own.positive;
    sums.negative += own.negative;
  }
}
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the sum of lanes by a fixed tree of additions in double.
HWY_INLINE double SumLanes(const float* lanes) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> half;
  HWY_ALIGN double sums[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; i += hn::Lanes(d)) {
    const auto low = hn::PromoteTo(d, hn::Load(half, lanes + i));
    const auto high = hn::PromoteTo(d, hn::Load(half, lanes + i + kLanes / 2));
    hn::Store(hn::Add(low, high), d, sums + i);
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// Computes bits and sums of n <= kBlock elements from `begin` on; `bits` is the first element's
/// byte.
template <SignScale kScale, class Source>
HWY_INLINE void SignBlock(const Source& source, std::size_t begin, std::size_t n,
                          std::uint8_t* HWY_RESTRICT bits, SignedSums& sums) {
  const hn::CappedTag<float, kLanes> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr bool kMeans = kScale == SignScale::kMeans;
  // Bits are counted in this buffer, not in the output: a load from the output would wait for its
  // cache line.
  alignas(64) std::array<std::uint8_t, kBlock / 8> block;
  HWY_ALIGN float above[kLanes];
  HWY_ALIGN float below[kLanes];
  const auto zero = hn::Zero(d);
  const std::size_t whole = n / kRow * kRow;
  for (std::size_t lane = 0; lane < kLanes; lane += lanes) {
    auto p0 = zero, p1 = zero, n0 = zero, n1 = zero;
    for (std::size_t i = lane; i < whole; i += kRow) {
      const auto a = Load(d, source, begin + i);
      const auto b = Load(d, source, begin + i + kLanes);
      source.far_ahead(begin + i);
      source.far_ahead(begin + i + kLanes);
      const auto a_below = hn::Lt(a, zero);
      const auto b_below = hn::Lt(b, zero);
      StoreBits(d, a_below, block.data(), i);
      StoreBits(d, b_below, block.data(), i + kLanes);
      p0 = hn::Add(p0, kMeans ? hn::IfThenZeroElse(a_below, a) : hn::Abs(a));
      p1 = hn::Add(p1, kMeans ? hn::IfThenZeroElse(b_below, b) : hn::Abs(b));
      if (kMeans) n0 = hn::Add(n0, hn::IfThenElseZero(a_below, a));
      if (kMeans) n1 = hn::Add(n1, hn::IfThenElseZero(b_below, b));
    }
    hn::Store(hn::Add(p0, p1), d, above + lane);
    if (kMeans) hn::Store(hn::Add(n0, n1), d, below + lane);
  }
  sums.positive += SumLanes(above);
  if (kMeans) sums.negative += SumLanes(below);
  const hn::CappedTag<float, 1> one;
  for (std::size_t i = whole; i < n; ++i) {
    const auto x = Load(one, source, begin + i);
    const float value = hn::GetLane(x);
    StoreBits(one, hn::Lt(x, hn::Zero(one)), block.data(), i);
    if (!kMeans) {
      sums.positive += double{std::fabs(value)};
    } else {
      (value < 0 ? sums.negative : sums.positive) += double{value};
    }
  }
  sums.negatives += put_bits(block.data(), (n + 7) / 8, bits);
}

template <class Source>
HWY_INLINE void SignBlocks(const Source& source, SignScale scale, std::size_t begin,
                           std::size_t end, std::uint8_t* bits, SignedSums& sums) {
  for (; begin < end; begin += kBlock, bits += kBlock / 8) {
    const std::size_t n = std::min(kBlock, end - begin);
    if (scale == SignScale::kMeans) {
      SignBlock<SignScale::kMeans>(source, begin, n, bits, sums);
    } else {
      SignBlock<SignScale::kMagnitude>(source, begin, n, bits, sums);
    }
  }
}

void SignArray(const float* c, SignScale scale, std::size_t begin, std::size_t end,
               std::uint8_t* bits, SignedSums& sums) {
  SignBlocks(ArraySource{c}, scale, begin, end, bits, sums);
}

void SignSum(const PendingSum& sum, SignScale scale, std::size_t begin, std::size_t end,
             std::uint8_t* bits, SignedSums& sums) {
  with_source(sum, [&](const auto& source) HWY_ATTR {
    SignBlocks(source, scale, begin, end, bits, sums);
    return 0;
  });
}

void Leave(const float* c, std::size_t n, float positive, float negative, float* left) {
  ForEachVector(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, c + i);
    ask_far_ahead(c + i);
    const auto below = hn::Lt(x, hn::Zero(d));
    StoreLeft(d, x, hn::IfThenElse(below, hn::Set(d, negative), hn::Set(d, positive)), left, i);
  });
}

void Pack(const float* c, std::size_t n, float positive, float negative, float* left,
          std::uint8_t* HWY_RESTRICT bits) {
  ForEachVector(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, c + i);
    ask_far_ahead(c + i);
    const auto below = hn::Lt(x, hn::Zero(d));
    StoreBits(d, below, bits, i);
    StoreLeft(d, x, hn::IfThenElse(below, hn::Set(d, negative), hn::Set(d, positive)), left, i);
  });
}

std::size_t Buckets(const float* c, std::size_t n, std::size_t bucket, SignScale scale, float* left,
                    std::uint8_t* HWY_RESTRICT out) {
  const std::size_t header = (scale == SignScale::kMeans ? 2 : 1) * sizeof(float);
  std::size_t nonzero = 0;
  for (std::size_t at = 0; at < n; at += bucket) {
    const std::size_t some = std::min(bucket, n - at);
    SignedSums sums;
    SignBlocks(ArraySource{c}, scale, at, at + some, out + header, sums);
    repair({c + at, some}, scale, sums);
    const SignValues values = sign_values(scale, sums, some);
    std::memcpy(out, &values, header);
    if (left != nullptr) Leave(c + at, some, values.positive, values.negative, left + at);
    nonzero += (values.positive == 0 ? 0 : some - sums.negatives) +
               (values.negative == 0 ? 0 : sums.negatives);
    out += header + (some + 7) / 8;
  }
  return nonzero;
}

void UnpackAdd(const std::uint8_t* HWY_RESTRICT bits, float positive, float negative,
               float* HWY_RESTRICT out, std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto below = LoadBits(d, bits, i);
    const auto value = hn::IfThenElse(below, hn::Set(d, negative), hn::Set(d, positive));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), value), d, out + i);
  });
}

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

void LeaveRow(const float* c, std::size_t n, const float* HWY_RESTRICT positive,
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
HWY_EXPORT(SignArray);
HWY_EXPORT(SignSum);
HWY_EXPORT(Leave);
HWY_EXPORT(Pack);
HWY_EXPORT(Buckets);
HWY_EXPORT(UnpackAdd);
HWY_EXPORT(AddBySign);
HWY_EXPORT(LeaveRow);
HWY_EXPORT(AddRow);

/// Elements whose bits fill a cache line.
constexpr std::size_t kGrain = 512;

/// Returns the sum of the results of blocks(begin, end, sums) over all parts.
template <class Blocks>
SignedSums add_parts(std::size_t n, Blocks blocks) {
  std::array<SignedSums, kParts> parts;
  const std::size_t count = (n + kBlock - 1) / kBlock;
  parallel_parts(kParts, threads_for(n), [&](std::size_t part) {
    const std::size_t begin = count * part / kParts * kBlock;
    const std::size_t end = std::min(n, count * (part + 1) / kParts * kBlock);
    if (begin < end) blocks(begin, end, parts[part]);
  });
  SignedSums total;
  for (const SignedSums& part : parts) {
    total.positive += part.positive;
    total.negative += part.negative;
    total.negatives += part.negatives;
  }
  return total;
}
}  // namespace

SignedSums pack_signs(std::span<const float> c, SignScale scale, std::uint8_t* bits) {
  SignedSums sums = add_parts(c.size(), [&](std::size_t begin, std::size_t end, SignedSums& part) {
    HWY_DYNAMIC_DISPATCH(SignArray)(c.data(), scale, begin, end, bits + begin / 8, part);
  });
  repair(c, scale, sums);
  return sums;
}

SignedSums pack_signs_of_sum(const PendingSum& sum, SignScale scale, std::uint8_t* bits) {
  SignedSums sums = add_parts(sum.n, [&](std::size_t begin, std::size_t end, SignedSums& part) {
    HWY_DYNAMIC_DISPATCH(SignSum)(sum, scale, begin, end, bits + begin / 8, part);
  });
  repair({sum.r, sum.n}, scale, sums);
  return sums;
}

void leave_signs(std::span<const float> c, SignValues values, std::span<float> remainder) {
  parallel_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Leave)
    (c.data() + begin, end - begin, values.positive, values.negative, remainder.data() + begin);
  });
}

void sign_pack(std::span<const float> c, SignValues values, std::span<float> remainder,
               std::uint8_t* bits) {
  parallel_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    HWY_DYNAMIC_DISPATCH(Pack)
    (c.data() + begin, end - begin, values.positive, values.negative, left, bits + begin / 8);
  });
}

std::size_t sign_buckets(std::span<const float> c, std::size_t bucket, SignScale scale,
                         std::span<float> remainder, std::uint8_t* out) {
  float* const left = remainder.empty() ? nullptr : remainder.data();
  return HWY_DYNAMIC_DISPATCH(Buckets)(c.data(), c.size(), bucket, scale, left, out);
}

void sign_unpack_add(const std::uint8_t* bits, SignValues values, std::span<float> out) {
  parallel_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(UnpackAdd)
    (bits + begin / 8, values.positive, values.negative, out.data() + begin, end - begin);
  });
}

void add_row_by_sign(const float* x, std::size_t n, float* positive, float* negative,
                     float* counts) {
  HWY_DYNAMIC_DISPATCH(AddBySign)(x, n, positive, negative, counts);
}

void leave_row(const float* c, std::size_t n, const float* positive, const float* negative,
               float* left) {
  HWY_DYNAMIC_DISPATCH(LeaveRow)(c, n, positive, negative, left);
}

void add_row(const std::uint8_t* bits, std::size_t n, const float* positive, const float* negative,
             float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(AddRow)(bits, n, positive, negative, factor, out);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
