// How kernels read c, the input of compression. The first kernel that reads c updates the memory.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// How an element is read.
enum class Reading {
  kSum,       ///< reads c and updates the memory r; once per step
  kAsIs,      ///< reads c after the memory's update
  kChosen,    ///< reads the chosen values instead of c
  kGradient,  ///< reads g instead of c
};

/// Returns the sum of a memory's and a gradient's element, by the rules of memory/memory.cc:
/// products are rounded before they are added.
THINPIPE_BOTH inline float sum_of(const Job& job, float r, float g) {
  const float from = job.anew ? 0.0F : r;
  if (job.decay == 1.0F && job.scale == 1.0F) return canonical(from + g);
  const float kept = job.decay * from;
  const float fresh = job.scale * g;
  return canonical(kept + fresh);
}
/// Returns the number; 0 if it is not finite.
THINPIPE_BOTH inline float finite_or_zero(float number) {
  return number - number == 0 ? number : 0.0F;
}

/// Returns element i of c before the memory's update, without updating the memory.
THINPIPE_BOTH inline float peek(const Job& job, std::uint32_t i) {
  const float g = job.g[i];
  if (job.r == nullptr) return g;
  if (job.u != nullptr) {
    const float fresh = job.scale * g;
    return canonical(job.nesterov ? (job.r[i] + job.momentum * (job.u[i] + fresh)) + fresh
                                  : job.r[i] + (job.momentum * job.u[i] + fresh));
  }
  const float sum = sum_of(job, job.r[i], g);
  return job.h == nullptr || job.holds ? sum : sum - finite_or_zero(job.h[i]);
}

/// An element's operands, as read from memory. fetch() is separate from settle(), so that a thread
/// can have several reads in flight before it stores anything.
struct Fetched {
  float g = 0;      ///< gradient, if the memory is updated
  float r = 0;      ///< memory, or the element
  float other = 0;  ///< velocity, or the receivers' estimate, if the memory has one
};

/// Reads element i of c, or of Job::chosen.
template <Reading reading>
THINPIPE_BOTH Fetched fetch(const Job& job, std::uint32_t i) {
  if constexpr (reading == Reading::kChosen) {
    return {.g = 0, .r = job.chosen.values[i]};
  } else if constexpr (reading == Reading::kSum) {
    if (job.r == nullptr || job.summed) return {.g = 0, .r = job.c()[i]};
    return {.g = job.g[i],
            .r = job.anew ? 0 : job.r[i],
            .other = job.u != nullptr   ? job.u[i]
                     : job.h != nullptr ? job.h[i]
                                        : 0};
  } else if constexpr (reading == Reading::kGradient) {
    return {.g = 0, .r = job.g[i]};
  } else {
    return {.g = 0, .r = job.c()[i]};
  }
}

/// Returns the element from its operands; for kSum, stores it in the memory.
template <Reading reading>
THINPIPE_BOTH float settle(const Job& job, std::uint32_t i, const Fetched& read) {
  if constexpr (reading != Reading::kSum) return read.r;
  if (job.r == nullptr || job.summed) return read.r;
  float c = 0;
  if (job.u != nullptr) {
    const float fresh = job.scale * read.g;
    float u = read.other;
    if (job.nesterov) {
      u = canonical(job.momentum * (u + fresh));
      c = canonical((read.r + u) + fresh);
    } else {
      u = canonical(job.momentum * u + fresh);
      c = canonical(read.r + u);
    }
    job.u[i] = u;
  } else {
    c = sum_of(job, read.r, read.g);
    if (job.h != nullptr && !job.holds) {
      const float estimate = finite_or_zero(read.other);
      if (read.other - estimate != 0) job.h[i] = 0;
      c = c - estimate;
    }
  }
  job.r[i] = c;
  return c;
}

/// Reads an element: fetch(), then settle().
template <Reading reading>
THINPIPE_BOTH float element(const Job& job, std::uint32_t i) {
  return settle<reading>(job, i, fetch<reading>(job, i));
}

/// Reads thread t's elements of a tile, one for each row of its warp. All reads are under way
/// before the first store. @param n  elements of all tiles
template <Reading reading, unsigned rows>
THINPIPE_KERNEL void read_rows(const Job& job, std::uint32_t n, std::uint32_t tile, int t,
                               WarpRows<float, rows>& values) {
  Fetched read[rows];
  for (unsigned j = 0; j < rows; ++j) {
    const std::uint32_t i = row_position(tile, t, j, rows);
    if (i < n) read[j] = fetch<reading>(job, i);
  }
  for (unsigned j = 0; j < rows; ++j) {
    const std::uint32_t i = row_position(tile, t, j, rows);
    if (i < n) values.words[j] = settle<reading>(job, i, read[j]);
  }
}

/// Returns the number of elements to read.
template <Reading reading>
THINPIPE_BOTH std::uint32_t elements_of(const Job& job, std::uint32_t from) {
  return reading == Reading::kChosen ? job.findings->counts[from] : job.n;
}

// Memory updates after sending. Call one of these for every element sent.

/// Returns the residual; 0 if it is not finite.
THINPIPE_BOTH inline float remainder_of(float c, float decoded) {
  return finite_or_zero(c - decoded);
}
/// Adds `decoded` to the receivers' estimate, and stores the residual in the memory.
THINPIPE_BOTH inline void leave(const Job& job, std::uint32_t i, float c, float decoded) {
  if (job.h != nullptr) job.h[i] = canonical(job.h[i] + decoded);
  if (!job.keeps) return;
  job.r[i] = remainder_of(c, decoded);
}
/// As leave(), for methods that send few elements. With masking, also clears their velocity.
THINPIPE_BOTH inline void take_off(const Job& job, std::uint32_t i, float decoded) {
  leave(job, i, job.keeps ? job.r[i] : 0, decoded);
  if (job.clears) job.r[i] = 0;
  if (job.u != nullptr && job.masking) job.u[i] = 0.0F;
}

/// Adds the gradients to the memories, in steps without an exchange. Grid: the tiles of kSumTile
/// elements.
struct HoldGradients : OnTiles {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    each_of_tile<kSumTile>(block, tile.index, job.n,
                           [&](std::uint32_t i) { element<Reading::kSum>(job, i); });
  }
};

}  // namespace thinpipe::cuda
