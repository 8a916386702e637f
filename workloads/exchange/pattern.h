// How the payloads of all ranks meet.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Both kinds of exchange that compressors need (Aggregation), over one choice of algorithms.
class Pattern {
 public:
  virtual ~Pattern() = default;

  /// result becomes factor * sum of own over ranks, the same bits on every rank.
  virtual void all_reduce(std::span<const float> own, std::span<float> result, float factor) = 0;

  /// Every rank's message, by rank; valid until the next call.
  virtual const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) = 0;

  /// What was sent so far; zeros where the pattern cannot tell.
  virtual TransportCounters counters() const = 0;
};

}  // namespace thinpipe
