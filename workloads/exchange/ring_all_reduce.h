// Dense all-reduce on a ring, cut into segments that flow without waiting for whole chunks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Bytes of one message. Under Open MPI's eager limit (64 KiB), so that a segment needs no
/// handshake; 32 kB did best on the development machine, 64 kB and more clearly worse.
inline constexpr std::size_t kSegmentBytes = 32768;
/// Segments under way in each direction.
inline constexpr int kSegmentsInFlight = 16;

/// The mean of one float array over all ranks: reduce-scatter, then all-gather, 2(n-1) steps of d/n
/// elements each (the ring of Variance-based Gradient Compression, section 5). Every rank sends and
/// receives 2(n-1)/n * 4d bytes, to its right and from its left, both directions always busy.
/// Each element is summed in the same order for all ranks: all end with the same bits.
class RingAllReduce {
 public:
  /// Buffers for the segments under way are made once.
  RingAllReduce();

  /// `result` becomes factor * sum of `own` over ranks; all of the same size on every rank, and
  /// apart in memory: `own` is read where it lies, so that no pass goes into copying it.
  void run(Transport& transport, std::span<const float> own, std::span<float> result, float factor);

  /// Bytes one rank sends, without framing.
  static std::size_t bytes_sent(std::size_t elements, int ranks, int rank);

 private:
  std::vector<float> staging_;
};

}  // namespace thinpipe
