// Adds the values of a payload to a tensor, at positions that have been read; or only reads them.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/payload_view.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// out += factor * decoded; nothing where `problem` says that the positions are wrong. Sets it for
/// values that no compressor writes. Grid: as many blocks as tiles of kTile elements may be in the
/// payload.
template <class Code>
struct AddValues {
  static constexpr int kThreads = 512;
  struct Shared {};

  PayloadView payload;
  const std::uint32_t* positions;  ///< ascending and less than n
  float factor;
  float* out;
  std::uint32_t* problem;
  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const PayloadParts parts = payload.open();
    const bool usable = *problem == 0 && parts.count > 0;
    block.each([&](int t) {
      if (!usable) return;
      bool good = code.good(payload, parts.values);
      const std::uint32_t begin = block.index() * kTile;
      for (std::uint32_t i = begin + static_cast<std::uint32_t>(t); i < begin + kTile && good;
           i += kThreads) {
        if (i >= parts.count) break;
        const float value = factor * code.read(payload, parts.values, i, good);
        const std::uint32_t position = positions[i];
        out[position] = out[position] + value;
      }
      if (!good) block.set_greatest(problem, static_cast<std::uint32_t>(PayloadProblem::kValue));
    });
  }
};

/// values[i] = the i-th, likewise.
template <class Code>
struct ReadValues {
  static constexpr int kThreads = 512;
  struct Shared {};

  PayloadView payload;
  float* values;
  std::uint32_t* problem;
  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const PayloadParts parts = payload.open();
    const bool usable = *problem == 0 && parts.count > 0;
    block.each([&](int t) {
      if (!usable) return;
      bool good = code.good(payload, parts.values);
      const std::uint32_t begin = block.index() * kTile;
      for (std::uint32_t i = begin + static_cast<std::uint32_t>(t); i < begin + kTile && good;
           i += kThreads) {
        if (i >= parts.count) break;
        values[i] = code.read(payload, parts.values, i, good);
      }
      if (!good) block.set_greatest(problem, static_cast<std::uint32_t>(PayloadProblem::kValue));
    });
  }
};

}  // namespace thinpipe::cuda
