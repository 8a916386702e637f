// How the payloads of all ranks meet.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// The exchanges that compressors need (Aggregation), over one choice of algorithms. A pattern
/// overrides those it can do (PatternInfo::exchanges); the others throw an InputError that names
/// the patterns that can.
class Pattern {
 public:
  virtual ~Pattern() = default;

  /// result becomes factor * sum of own over ranks, the same bits on every rank. Both are of the
  /// same size on every rank, and apart in memory.
  virtual void all_reduce(std::span<const float> own, std::span<float> result, float factor);

  /// Every rank's message, by rank; valid until the next call.
  virtual const std::vector<std::span<const std::byte>>& all_gather(std::span<const std::byte> own);

  /// What was sent so far; zeros where the pattern cannot tell.
  virtual TransportCounters counters() const = 0;
};

}  // namespace thinpipe
