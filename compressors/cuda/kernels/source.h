// c as kernels read it: lying there, or a memory's sum that is done by the first who reads it.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// What reading an element does besides.
enum class Reading {
  kSum,     ///< does the memory's sum and leaves it in r; once a step
  kAsIs,    ///< nothing
  kChosen,  ///< reads the values chosen so far in place of c
};

/// The element at i of c, whose sum has not been done and is not done here. The memories' rules
/// (memory/residual.cc, memory/momentum.cc): products are rounded before they are added.
THINPIPE_BOTH inline float peek(const Job& job, std::uint32_t i) {
  const float g = job.g[i];
  if (job.r == nullptr) return g;
  const float fresh = job.scale * g;
  if (job.u != nullptr) {
    return job.nesterov ? (job.r[i] + job.momentum * (job.u[i] + fresh)) + fresh
                        : job.r[i] + (job.momentum * job.u[i] + fresh);
  }
  if (job.decay == 1.0F && job.scale == 1.0F) return job.r[i] + g;
  const float kept = job.decay * job.r[i];
  return kept + fresh;
}

/// What an element is made of, as it lies in memory. Reading is apart from what comes after it, so
/// that a thread can have several reads under way: it stores nothing before it has all.
struct Fetched {
  float g = 0;  ///< gradient, where a sum is to be done
  float r = 0;  ///< memory, or the element itself
};

/// Reads the element at i of c, or of what was chosen into chosen[from].
template <Reading reading>
THINPIPE_BOTH Fetched fetch(const Job& job, std::uint32_t from, std::uint32_t i) {
  if constexpr (reading == Reading::kChosen) {
    return {.g = 0, .r = job.chosen_at(from).values[i]};
  } else if constexpr (reading == Reading::kSum) {
    return {.g = job.g[i], .r = job.r == nullptr ? 0 : job.r[i]};
  } else {
    return {.g = 0, .r = job.c()[i]};
  }
}

/// The element of what was read. A sum is left in the memory.
template <Reading reading>
THINPIPE_BOTH float settle(const Job& job, std::uint32_t i, const Fetched& read) {
  if constexpr (reading != Reading::kSum) return read.r;
  if (job.r == nullptr) return read.g;
  const float fresh = job.scale * read.g;
  float c = 0;
  if (job.u != nullptr) {
    float u = job.u[i];
    if (job.nesterov) {
      u = job.momentum * (u + fresh);
      c = (read.r + u) + fresh;
    } else {
      u = job.momentum * u + fresh;
      c = read.r + u;
    }
    job.u[i] = u;
  } else if (job.decay == 1.0F && job.scale == 1.0F) {
    c = read.r + read.g;
  } else {
    const float kept = job.decay * read.r;
    c = kept + fresh;
  }
  job.r[i] = c;
  return c;
}

/// Both.
template <Reading reading>
THINPIPE_BOTH float element(const Job& job, std::uint32_t from, std::uint32_t i) {
  return settle<reading>(job, i, fetch<reading>(job, from, i));
}

/// How many elements there are to read.
template <Reading reading>
THINPIPE_BOTH std::uint32_t elements_of(const Job& job, std::uint32_t from) {
  return reading == Reading::kChosen ? job.findings->counts[from] : job.n;
}

}  // namespace thinpipe::cuda
