// Reads the values of payloads whose positions have been read.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/decode_job.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// out += factor * decoded.
struct AddAtPosition {
  THINPIPE_KERNEL static void take(const DecodeJob& job, std::uint32_t i, float value) {
    const float term = job.factor * value;
    float& to = job.out[job.positions[i]];
    to = to + term;
  }
};

/// Stores the decoded values.
struct KeepValue {
  THINPIPE_KERNEL static void take(const DecodeJob& job, std::uint32_t i, float value) {
    job.values[i] = value;
  }
};

/// Reads the values that belong to positions, which ascend and are less than n. Does nothing if an
/// earlier kernel found a problem in the payload. Reports a problem for values that no compressor
/// writes. Grid: the maximum number of tiles of kTile elements in the payload.
template <class Code, class Taken>
struct ReadValues {
  static constexpr int kThreads = 512;
  struct Shared {};

  Code code;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const PayloadParts parts = payload.open();
    const bool usable = *job.problem == 0 && parts.count > 0;
    block.each([&](int t) {
      if (!usable) return;
      bool good = code.good(payload, parts.values);
      each_in_tile<kThreads>(t, block.index(), parts.count, [&](std::uint32_t i) {
        if (good) Taken::take(job, i, code.read(payload, parts.values, i, good));
      });
      if (!good) tell(block, job, PayloadProblem::kValue);
    });
  }
};

}  // namespace thinpipe::cuda
