// c as kernels read it: lying there, or a memory's sum that is done by the first who reads it.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// How an element is read.
enum class Reading {
  kSum,       ///< does the memory's sum and leaves it in r; once a step
  kAsIs,      ///< nothing
  kChosen,    ///< reads the values chosen so far in place of c
  kGradient,  ///< reads g in place of c
};

/// Adds the gradient's element to the memory's. The memories' rules (memory/residual.cc,
/// memory/momentum.cc, memory/ef21.cc, memory/none.cc): products are rounded before they are added.
THINPIPE_BOTH inline float sum_of(const Job& job, float r, float g) {
  const float from = job.anew ? 0.0F : r;
  if (job.decay == 1.0F && job.scale == 1.0F) return from + g;
  const float kept = job.decay * from;
  const float fresh = job.scale * g;
  return kept + fresh;
}
/// Receivers' estimate of an element. A non-finite estimate can only return to 0.
THINPIPE_BOTH inline float estimate_of(const Job& job, std::uint32_t i) {
  const float h = job.h[i];
  return h - h == 0 ? h : 0.0F;
}

/// The element at i of c, whose sum has not been done and is not done here.
THINPIPE_BOTH inline float peek(const Job& job, std::uint32_t i) {
  const float g = job.g[i];
  if (job.r == nullptr) return g;
  if (job.u != nullptr) {
    const float fresh = job.scale * g;
    return job.nesterov ? (job.r[i] + job.momentum * (job.u[i] + fresh)) + fresh
                        : job.r[i] + (job.momentum * job.u[i] + fresh);
  }
  const float sum = sum_of(job, job.r[i], g);
  return job.h == nullptr || job.holds ? sum : sum - estimate_of(job, i);
}

/// An element's operands, as they lie in memory. Reading is apart from what comes after it, so that
/// a thread can have several reads under way: it stores nothing before it has all.
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
    return {.g = job.g[i], .r = job.r == nullptr ? job.g[i] : job.r[i]};
  } else if constexpr (reading == Reading::kGradient) {
    return {.g = 0, .r = job.g[i]};
  } else {
    return {.g = 0, .r = job.c()[i]};
  }
}

/// The element of what was read. A sum is left in the memory.
template <Reading reading>
THINPIPE_BOTH float settle(const Job& job, std::uint32_t i, const Fetched& read) {
  if constexpr (reading != Reading::kSum) return read.r;
  if (job.r == nullptr || job.summed) return read.r;
  float c = 0;
  if (job.u != nullptr) {
    const float fresh = job.scale * read.g;
    float u = job.u[i];
    if (job.nesterov) {
      u = job.momentum * (u + fresh);
      c = (read.r + u) + fresh;
    } else {
      u = job.momentum * u + fresh;
      c = read.r + u;
    }
    job.u[i] = u;
  } else {
    c = sum_of(job, read.r, read.g);
    if (job.h != nullptr && !job.holds) {
      job.h[i] = estimate_of(job, i);
      c = c - job.h[i];
    }
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

// Updates after sending: one of these for every element sent.

/// Receivers have it, and c - decoded is left in the memory, 0 where that is not finite.
THINPIPE_BOTH inline void leave(const Job& job, std::uint32_t i, float c, float decoded) {
  if (job.h != nullptr) job.h[i] = job.h[i] + decoded;
  if (!job.keeps) return;
  const float left = c - decoded;
  job.r[i] = left - left == 0 ? left : 0.0F;
}
/// For a method that sends few elements: their velocity stops where it is masked.
THINPIPE_BOTH inline void take_off(const Job& job, std::uint32_t i, float decoded) {
  leave(job, i, job.keeps ? job.r[i] : 0, decoded);
  if (job.clears) job.r[i] = 0;
  if (job.u != nullptr && job.masking) job.u[i] = 0.0F;
}

}  // namespace thinpipe::cuda
