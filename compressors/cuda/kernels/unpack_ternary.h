// Decodes 3LC's payloads: runs of zero bytes, then five values per byte
// (compressors/kernels/ternary.cc, methods/quantizers.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/decode_job.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/ternary.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

/// Problem found in a ternary payload; 0: none.
enum class TernaryProblem : std::uint32_t {
  kNone = 0,
  kScale = 1,
  kByte = 2,     ///< a byte that encodes a run, without zero-run encoding
  kPadding = 3,  ///< a digit without an element is not 0
  kLength = 4,   ///< the bytes encode more or fewer elements
};

/// Computes out += factor * decoded. If a problem is found, `out` is unspecified, but nothing
/// outside of it is written. Grid: the tiles of kTile bytes after the scales.
struct UnpackTernary {
  static constexpr int kThreads = 512;
  static constexpr unsigned kWarps = kThreads / 32;
  struct Shared {
    Counts tile;
  };

  bool has_runs;
  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const std::uint32_t* const payload = job.payload.words;
    const std::uint32_t n = job.payload.n;
    const auto length = static_cast<std::uint32_t>(layout.bytes(n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(n));
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(payload + scales);
    const std::uint32_t bytes = job.payload.bytes - 4 * scales;  // of codes
    constexpr std::uint32_t kOwn = kTile / kThreads;             // consecutive bytes per thread
    typename Block::template Local<std::uint32_t> place;
    block.each([&](int t) {
      place[t] = 0;
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i < bytes) place[t] += span_of(codes[i]);
      }
    });
    const std::uint32_t total = block.prefix(place);
    block.each([&](int t) {
      if (t == 0) shared.tile = {total, 0};
    });
    const Counts earlier = block.before(job.states, block.index(), shared.tile);
    block.each([&](int t) {
      std::uint32_t at = earlier.first + place[t];
      for (std::uint32_t j = 0; j < kOwn; ++j) {
        const std::uint32_t i = first_of(block.index(), t) + j;
        if (i >= bytes) break;
        const std::uint8_t code = codes[i];
        if (code > kQuarticMax) {
          if (!has_runs) tell(block, job, TernaryProblem::kByte);
          if (!is_full(n, at, span_of(code))) tell(block, job, TernaryProblem::kPadding);
        } else if (at < length && !add(job, code, at)) {
          tell(block, job, TernaryProblem::kPadding);
        }
        at += span_of(code);
      }
      const std::uint32_t all = tiles_of(bytes, kTile) * kThreads;
      for (auto i = block.index() * kThreads + static_cast<std::uint32_t>(t); i < scales; i += all)
        if (payload[i] >= kInfinityBits) tell(block, job, TernaryProblem::kScale);
      if (t != 0) return;
      const bool is_last = (block.index() + 1) * kTile >= bytes;
      if (is_last && earlier.first + total != length) tell(block, job, TernaryProblem::kLength);
    });
  }

 private:
  THINPIPE_KERNEL static std::uint32_t first_of(unsigned tile, int t) {
    return tile * kTile + static_cast<std::uint32_t>(t) * (kTile / kThreads);
  }
  /// Returns the number of quartic bytes that a byte encodes.
  THINPIPE_KERNEL static std::uint32_t span_of(std::uint8_t code) {
    return code > kQuarticMax ? static_cast<std::uint32_t>(run_length(code)) : 1;
  }
  /// The bucket of a payload's byte, and the byte's index in it.
  struct Place {
    std::uint32_t bucket;
    std::uint32_t byte;
    std::uint32_t elements;
  };
  THINPIPE_KERNEL Place place_of(std::uint32_t n, std::uint32_t at) const {
    if (layout.bucket == 0) return {0, at, n};
    const auto length = static_cast<std::uint32_t>(quartic_size(layout.bucket));
    const std::uint32_t bucket = at / length;
    const std::uint64_t begin = std::uint64_t{bucket} * layout.bucket;
    const std::uint64_t left = begin < n ? n - begin : 0;
    return {bucket, at % length,
            left < layout.bucket ? static_cast<std::uint32_t>(left) : layout.bucket};
  }
  /// Returns whether every digit of a run of zeros belongs to an element of the tensor. An element
  /// of value zero has the digit 1, but a digit past the last element must be 0.
  THINPIPE_KERNEL bool is_full(std::uint32_t n, std::uint32_t at, std::uint32_t span) const {
    const Place place = place_of(n, at);
    const std::size_t whole = layout.bucket_of(n);
    if (full_quartic_bytes(whole) != quartic_size(whole))
      return place.byte + span <= full_quartic_bytes(place.elements);
    // Only the last bucket may end with digits without elements.
    const std::size_t last = whole == 0 ? 0 : n % whole;
    return at + span <= layout.bytes(n) - quartic_size(last) + full_quartic_bytes(last);
  }
  /// Adds a byte's values to `out`. Returns false if a digit past the end is not 0.
  THINPIPE_KERNEL bool add(const DecodeJob& job, std::uint32_t code, std::uint32_t at) const {
    const Place place = place_of(job.payload.n, at);
    const std::size_t length = quartic_size(place.elements);
    const std::uint64_t begin = std::uint64_t{place.bucket} * layout.bucket;
    const float value = job.factor * std::bit_cast<float>(job.payload.words[place.bucket]);
    bool good = true;
    for (std::uint32_t part = 5; part-- > 0; code /= 3) {
      const std::uint64_t i = part * length + place.byte;
      const std::uint32_t digit = code % 3;
      if (i < place.elements) {
        const float term = static_cast<float>(static_cast<int>(digit) - 1) * value;
        job.out[begin + i] = job.out[begin + i] + term;
      } else {
        good = good && digit == 0;
      }
    }
    return good;
  }
};

}  // namespace thinpipe::cuda
