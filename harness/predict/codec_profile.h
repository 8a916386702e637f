// Costs and payloads of a compressor on one trace, which is all that a prediction needs; as a run
// recorded them, and as a GPU's memory bounds them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/machine.h"
#include "reports/record/record.h"
#include "workloads/exchange/patterns.h"
#include "workloads/replay/feed.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// A unit's exchange with parameter servers: means over ranks and steps.
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

/// Tensors that leave together.
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

/// Codec times and payload sizes from what a run recorded. The device's points with fewest ranks
/// that are not failed give the median processor time of encoding, the median time of decoding and
/// the mean payload; on a GPU the time that encoding took, and the copies that the network does not
/// hide. How many exchanges a step takes, and in which steps, is the compressor's own; several
/// share the recorded payload and copies evenly.
/// @throws InputError when the records are of another trace, or none of this compressor, and for
/// rules, of whose parts records do not tell
CodecProfile recorded_codec(const Records& records, const Trace& trace,
                            const CompressorRules& compressor,
                            const std::string& device = kDeviceCpu);

/// Whether recorded_codec() finds a point of it.
bool has_codec(const Records& records, const CompressorRules& compressor,
               const std::string& device = kDeviceCpu);

/// The GPU on which a trace's compute times were taken.
struct ComputeDevice {
  std::string name;        ///< "NVIDIA V100-SXM2"
  double memory_rate = 0;  ///< B/s, of its data sheet; 0 where nobody knows it
};

/// Nothing where compute times are a processor's, or where there are none. A GPU's stand in traces
/// that the Python package captured on one (`provenance.device`), and in synthetic ones of models
/// whose times the catalogue estimates for one.
std::optional<ComputeDevice> compute_device(const Trace& trace);

/// The bound that no codec on the device passes: each bucket is read once to encode it and written
/// once with the mean, at the rate of its memory; messages are decoded in no time. Without a known
/// rate a codec takes no time at all.
CodecProfile at_memory_pace(CodecProfile profile, const Trace& trace, const ComputeDevice& device);

}  // namespace thinpipe
