// How the payloads of all ranks meet: the exchange patterns a run may choose from.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
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

  /// What was sent so far. Open MPI's own algorithms do not tell: counters stay 0 there.
  virtual TransportCounters counters() const = 0;
};

/// `ring`: our pipelined rings. `openmpi`: MPI_Allreduce and MPI_Allgatherv as the library decides.
std::vector<std::string> pattern_names();

/// @param capacity  the longest message all_gather may carry, in bytes
/// @throws InputError for an unknown name.
std::unique_ptr<Pattern> make_pattern(const std::string& name, MPI_Comm communicator,
                                      std::size_t capacity);

}  // namespace thinpipe
