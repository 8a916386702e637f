// What a compressor costs and sends on one trace: all that a prediction needs to know of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/exchange/patterns.h"

namespace thinpipe {

/// What parameter servers exchange of a unit: means over ranks and steps.
struct ProfiledUnit {
  double elements = 0;
  double push = 0, pull = 0;  ///< bytes of a payload
  double decode = 0;          ///< s of one core of a server for each worker's payload
  double compress = 0;        ///< s likewise for the answer
};

/// One operation of a pattern that a step calls (workloads/exchange/pattern.h).
struct ProfiledExchange {
  Exchange exchange = Exchange::kAllReduce;
  /// By rank, mean over steps, with whatever frames payloads. Ranks beyond them are as these.
  std::vector<double> bytes;
  double k = 0;  ///< of a sparse all-reduce: elements that are aimed at
  /// s of copies between a device and the host that nothing hides: what is sent waits for them, or
  /// what follows.
  double copies = 0;
  std::vector<ProfiledUnit> units = {};  ///< of a push and pull

  double mean(int ranks) const;  ///< of so many ranks
};

/// What leaves together.
struct ProfiledBucket {
  std::vector<std::size_t> tensors;  ///< in the trace; the last of them to be ready decides
  double compress =
      0;              ///< s of one core (or device) a step, with all that is done between exchanges
  double decode = 0;  ///< s likewise for what does not depend on the number of ranks
  double decode_message = 0;                ///< s likewise for each rank's message
  std::vector<ProfiledExchange> exchanges;  ///< in order
};

struct CodecProfile {
  std::string compressor;  ///< canonical
  std::vector<ProfiledBucket> buckets;
  double payload_bytes = 0;  ///< of one rank a step, mean, as records have it
  double density = 1;        ///< share of the elements that a step sends; 1 where all are
  double elements = 0;       ///< of the gradient
  double hold = 0;           ///< s of one core in a step in which nothing is sent
  double period = 1;         ///< steps for each in which something is sent
  std::string source;        ///< "measured here", "records of out/records.jsonl"
};

}  // namespace thinpipe
