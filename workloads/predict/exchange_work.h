// The work of exchanging a bucket, as predictions and simulations take it: sizes and codec times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

#include "workloads/collectives/collective.h"

namespace thinpipe {

/// A unit's exchange with parameter servers. Bytes are means over ranks and steps.
struct UnitWork {
  double elements = 0;
  double push = 0, pull = 0;  ///< bytes of a payload
  double decode = 0;          ///< s of one core of a server for each worker's payload
  double compress = 0;        ///< s of one core of a server for the answer

  UnitWork operator*(double factor) const {
    return {elements * factor, push * factor, pull * factor, decode * factor, compress * factor};
  }
};

/// One operation of a collective that a step calls (workloads/collectives/collective.h).
struct ExchangeWork {
  Exchange operation = Exchange::kAllReduce;
  /// By rank, means over steps, with the framing of payloads. Further ranks repeat these.
  std::vector<double> bytes = {};
  double k = 0;  ///< of a sparse all-reduce: target number of elements
  /// Seconds of copies between a device and the host, and of codec work between several exchanges
  /// of a bucket, that overlap no other work: the exchange, or the work after it, waits for them.
  double copies = 0;
  std::vector<UnitWork> units = {};  ///< of a push and pull

  /// Returns the mean bytes over the first `ranks` ranks.
  double mean(int ranks) const {
    const auto known = std::min(bytes.size(), static_cast<std::size_t>(std::max(1, ranks)));
    if (known == 0) return 0;
    return std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(known), 0.0) /
           static_cast<double>(known);
  }
  /// Returns the work of ranks whose cores are slower by the factor.
  ExchangeWork slowed(double factor) const {
    ExchangeWork work = *this;
    work.copies *= factor;
    for (UnitWork& unit : work.units) {
      unit.decode *= factor;
      unit.compress *= factor;
    }
    return work;
  }
};

}  // namespace thinpipe
