// Codec times and payload sizes of a compressor on one trace: all that a prediction needs to know
// about the compressor. They come from a run's records, or are bounds by a GPU's memory bandwidth.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/machine.h"
#include "reports/record/record.h"
#include "workloads/predict/exchange_work.h"
#include "workloads/replay/bucketing.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Tensors that are exchanged together.
struct ProfiledBucket {
  std::vector<std::size_t> tensors;  ///< in the trace; the bucket is ready when its last tensor is
  /// s of one core (or device) in a step for compression and all other work between exchanges.
  double compress = 0;
  double decode = 0;          ///< s of decoding that does not depend on the number of ranks
  double decode_message = 0;  ///< s of decoding each rank's message
  std::vector<ExchangeWork> exchanges;  ///< in order
};

struct CodecProfile {
  std::string compressor;  ///< canonical
  std::vector<ProfiledBucket> buckets;
  double payload_bytes = 0;  ///< mean of one rank in a step with an exchange
  double density = 1;        ///< fraction of the elements that a step sends; 1 if dense
  double elements = 0;       ///< of the gradient
  double hold = 0;           ///< s of one core in a step without an exchange
  double period = 1;         ///< steps from one exchange to the next
  std::string source;        ///< "measured on this machine", "records of out/records.jsonl"
};

/// Returns codec times and payload sizes from a run's records. Points count if they were measured
/// on this device, did not fail, all-reduced or all-gathered, and have the fewest ranks of such
/// points. They give the median CPU time of encoding, the median time of decoding and the mean
/// payload. The time of decoding is taken as that of the ranks' messages alone: the part that does
/// not depend on their number, which clears the aggregate, is in it. On a GPU or with several
/// threads, points give the wall-clock time of encoding instead; on a GPU they also give the copies
/// that overlap nothing. The compressor determines the number of exchanges in a step, and the steps
/// that have any. Several exchanges divide the recorded payload and copies evenly.
/// @throws InputError when the records are of a different trace or have no point of this
/// compressor, and for rules, because records have no times of their single compressors
CodecProfile recorded_codec(const Records& records, const Trace& trace,
                            const CompressorRules& compressor,
                            const std::string& device = kDeviceCpu);

/// Returns the compressors for all tensors of which recorded_codec() finds points, in the order of
/// the records.
std::vector<CompressorRules> recorded_compressors(const Records& records,
                                                  const std::string& device = kDeviceCpu);

/// Returns true if recorded_codec() finds a point of this compressor.
bool has_codec(const Records& records, const CompressorRules& compressor,
               const std::string& device = kDeviceCpu);

/// The GPU on which a trace's compute times were taken.
struct ComputeDevice {
  std::string name;        ///< "NVIDIA V100-SXM2"
  double memory_rate = 0;  ///< B/s, of its data sheet; 0 where unknown
};

/// Returns the GPU on which the trace's compute times were taken; nothing where they are a CPU's,
/// or where there are none. A trace that the Python package captured on a GPU has that GPU's times
/// (`provenance.device`). So has a synthetic trace of a model whose times the catalogue estimates
/// for a GPU.
std::optional<ComputeDevice> compute_device(const Trace& trace);

/// Returns the lower bound of any codec's times on the device: each bucket is read once for
/// encoding and written once with the mean, at the memory bandwidth; decoding a message takes no
/// time. Without a known bandwidth a codec takes no time at all.
CodecProfile at_memory_pace(CodecProfile profile, const Trace& trace, const ComputeDevice& device);

}  // namespace thinpipe
