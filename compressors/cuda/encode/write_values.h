// Writes the beginning of a sparse payload, count and values, and updates the memory.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload_words.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// Writes the values of the sent elements, and subtracts the decoded values from the memory. Runs
/// after the positions have been written. Leaves the prefix states empty. Grid: the parts.
template <class Code>
struct WriteValues {
  static constexpr int kThreads = 512;
  struct Shared {};

  const Job* jobs;
  const Part* parts;
  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Part tile = parts[block.index()];
    const Job job = jobs[tile.job];
    const PayloadCount head{job.findings->counts[job.sent]};
    const Chosen chosen = job.chosen;
    const std::uint32_t begin = head.bytes();
    const std::uint32_t end = begin + job.values.bytes(head.count);
    const std::uint32_t words = (job.values.bytes(head.count) + 3) / 4;
    const auto word = [&](std::uint32_t i) {
      return i < words ? code.word(job, chosen.values, head.count, i) : 0;
    };
    const std::uint32_t stride = job.parts * kThreads;
    block.each([&](int t) {
      const std::uint32_t first = tile.index * kThreads + static_cast<std::uint32_t>(t);
      for (std::uint32_t i = first; i < tiles_of(head.count, kTile); i += stride)
        job.states[0][i] = 0;
      // A count of four or five bytes fills a word.
      if (first == 0 && begin >= 4) job.payload[0] = static_cast<std::uint32_t>(head.code());
      for (std::uint32_t i = first; 4 * (begin / 4 + i) < end; i += stride) {
        const std::uint32_t at = begin / 4 + i;
        const std::uint32_t made = joined(i == 0 ? head.end() : word(i - 1), word(i), begin);
        // The positions begin in the last word.
        job.payload[at] = at == end / 4 ? job.payload[at] | made : made;
      }
      for (std::uint32_t i = first; i < head.count; i += stride) {
        const std::uint32_t position = chosen.positions[i];
        const float decoded = code.decoded(job, i, chosen.values[i]);
        if (job.decoded != nullptr) job.decoded[i] = decoded;
        take_off(job, position, decoded);
        if (job.v != nullptr)
          job.v[position] = job.corrected == nullptr ? 0 : job.corrected[position];
      }
    });
  }
};

}  // namespace thinpipe::cuda
