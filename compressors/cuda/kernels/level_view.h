// Reads records of QSGD's buckets in Elias codes.
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/kernels/decode_job.h"
#include "compressors/cuda/kernels/level_stream.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Problem found in a payload; 0: none.
enum class LevelProblem : std::uint32_t { kNone = 0, kRecord = 1, kCodes = 2 };

/// A payload of records.
struct LevelView {
  PayloadView payload;
  std::uint32_t bits;  ///< of a code of fixed length
  float factor;

  THINPIPE_KERNEL static LevelView of(const DecodeJob& job) {
    return {job.payload, job.bits, job.factor};
  }
  THINPIPE_KERNEL static SliceCut cut_of(const DecodeJob& job) {
    return {job.payload.n, job.bucket};
  }

  THINPIPE_KERNEL std::uint32_t levels() const { return (std::uint32_t{1} << (bits - 1)) - 1; }
  /// Returns the maximum bytes of the codes of n elements (stream_bytes in methods/qsgd.cc).
  THINPIPE_KERNEL std::uint64_t most_bytes(std::uint32_t n) const {
    return (omega_bits(n + 1) + std::uint64_t{n} * (2 + omega_bits(levels())) + 7) / 8;
  }

  struct Record {
    bool good = false;
    float step = 0;
    std::uint32_t codes = 0;  ///< first byte of the codes
    std::uint32_t bytes = 0;
  };
  /// Reads the record of n elements at byte `at`, which is not past the end.
  THINPIPE_KERNEL Record record_at(std::uint32_t at, std::uint32_t n) const {
    Record record;
    if (payload.bytes - at < sizeof(float) + 1) return record;
    const std::uint32_t step = payload.word_at(at);
    at += sizeof(float);
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < 5 && at < payload.bytes; ++i) {
      const std::uint32_t byte = payload.byte_at(at++);
      bytes |= static_cast<std::uint64_t>(byte & 0x7f) << 7 * i;
      if (byte >= 0x80) continue;
      const bool shortest = i == 0 || byte != 0;
      const bool fits = bytes <= most_bytes(n) && bytes <= payload.bytes - at;
      record = {shortest && fits && step < kInfinityBits, factor * std::bit_cast<float>(step), at,
                static_cast<std::uint32_t>(bytes)};
      return record;
    }
    return record;
  }
  /// Reads the code at bit `bit` of the payload. @returns its length in bits; 0: no valid code
  THINPIPE_KERNEL std::uint32_t code_at(std::uint64_t bit, std::uint32_t most,
                                        std::uint32_t& distance, float& level) const {
    const auto bits_at = [&](std::uint64_t at) { return payload.bits_at(at); };
    const std::uint32_t of_distance = get_omega(bits_at, bit, most, distance);
    if (of_distance == 0) return 0;
    const bool negative = (payload.bits_at(bit + of_distance) & 1) != 0;
    std::uint32_t own = 0;
    const std::uint32_t of_level = get_omega(bits_at, bit + of_distance + 1, levels(), own);
    level = negative ? -static_cast<float>(own) : static_cast<float>(own);
    return of_level == 0 ? 0 : of_distance + 1 + of_level;
  }
  /// Returns whether only the padding zeros of the last byte are left.
  THINPIPE_KERNEL bool ends(std::uint64_t bit, std::uint64_t end) const {
    return end - bit < 8 && (payload.bits_at(bit) & ((std::uint32_t{1} << (end - bit)) - 1)) == 0;
  }
};

}  // namespace thinpipe::cuda
