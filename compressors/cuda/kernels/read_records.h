// Reads payloads of several QSGD buckets in Elias codes.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/level_view.h"

namespace thinpipe::cuda {

/// Finds where the records of all buckets begin. The end of a record is known only from its head,
/// so one thread follows the records, in words that all threads have fetched. Grid: one block per
/// payload with several records.
struct FindRecords {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kWords = 2048;  ///< fetched together
  static constexpr std::uint32_t kHead = 12;     ///< maximum bytes of a record before its codes
  struct Shared {
    std::uint32_t words[kWords];
    std::uint32_t at;
    std::uint32_t bucket;
    bool good;
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const std::uint32_t buckets = LevelView::cut_of(job).buckets();
    block.each([&](int t) {
      if (t != 0) return;
      shared.at = shared.bucket = 0;
      shared.good = true;
    });
    while (shared.bucket < buckets && shared.good) {
      block.each([&](int t) {
        const std::uint32_t first = shared.at / 4;
        const std::uint32_t all = (payload.bytes + 3) / 4;
        for (auto i = static_cast<std::uint32_t>(t); i < kWords && first + i < all; i += kThreads)
          shared.words[i] = payload.words[first + i];
      });
      block.each([&](int t) {
        if (t == 0) walk(job, buckets, shared);
      });
    }
    block.each([&](int t) {
      if (t == 0 && (!shared.good || shared.at != payload.bytes))
        tell(block, job, LevelProblem::kRecord);
    });
  }

 private:
  /// Follows records until the fetched words end.
  THINPIPE_KERNEL static void walk(const DecodeJob& job, std::uint32_t buckets, Shared& shared) {
    const std::uint32_t base = shared.at / 4 * 4;
    const SliceCut cut = LevelView::cut_of(job);
    LevelView view = LevelView::of(job);
    view.payload.words = shared.words;
    view.payload.bytes -= base;
    for (std::uint32_t at = shared.at - base; shared.bucket < buckets && at + kHead <= 4 * kWords;
         ++shared.bucket) {
      const std::uint32_t left = cut.n - shared.bucket * cut.bucket;
      job.begins[shared.bucket] = base + at;
      const LevelView::Record record = view.record_at(at, left < cut.bucket ? left : cut.bucket);
      shared.good = record.good;
      if (!record.good) return;
      at = record.codes + record.bytes;
      shared.at = base + at;
    }
  }
};

/// Computes out += factor * decoded, one thread per bucket, unless a problem was found. Grid:
/// kThreads buckets per block.
struct ReadRecords {
  static constexpr int kThreads = 64;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const bool usable = *job.problem == 0;
    const std::uint32_t buckets = LevelView::cut_of(job).buckets();
    block.each([&](int t) {
      if (!usable) return;
      each_in_tile<kThreads, kThreads>(t, block.index(), buckets, [&](std::uint32_t bucket) {
        if (!read(job, bucket)) tell(block, job, LevelProblem::kCodes);
      });
    });
  }

 private:
  THINPIPE_KERNEL static bool read(const DecodeJob& job, std::uint32_t bucket) {
    const LevelView view = LevelView::of(job);
    const SliceCut cut = LevelView::cut_of(job);
    const std::uint32_t first = bucket * cut.bucket;
    const std::uint32_t n = cut.n - first < cut.bucket ? cut.n - first : cut.bucket;
    const LevelView::Record record = view.record_at(job.begins[bucket], n);
    std::uint64_t bit = std::uint64_t{8} * record.codes;
    const std::uint64_t end = bit + std::uint64_t{8} * record.bytes;
    std::uint32_t count = 0;
    const auto bits_at = [&](std::uint64_t at) { return view.payload.bits_at(at); };
    const std::uint32_t of_count = get_omega(bits_at, bit, n + 1, count);
    bit += of_count;
    if (of_count == 0 || bit > end) return false;
    std::uint32_t next = 0;  // the first element after the previous level
    for (std::uint32_t i = 1; i < count; ++i) {
      std::uint32_t distance = 0;
      float level = 0;
      const std::uint32_t bits = view.code_at(bit, n - next, distance, level);
      bit += bits;
      if (bits == 0 || bit > end) return false;
      next += distance;
      const float term = record.step * level;
      float& to = job.out[first + next - 1];
      to = to + term;
    }
    return view.ends(bit, end);
  }
};

}  // namespace thinpipe::cuda
