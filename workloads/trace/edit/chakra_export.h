// Export of a trace's steps as Chakra execution traces, for simulators of accelerators: compute
// times of the trace, payload sizes and codec times of a compressor. docs/traces.md has the nodes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// A collective of a step.
struct ChakraExchange {
  ChakraCollective collective = ChakraCollective::kAllReduce;
  /// Bytes that each rank of the trace hands to the collective. Further ranks repeat these.
  std::vector<double> bytes = {};
};

/// Tensors whose payloads are exchanged together.
struct ChakraBucket {
  std::vector<std::size_t> tensors = {};       ///< in the trace; at least one
  double encode = 0;                           ///< s
  double decode = 0;                           ///< s, of all ranks' payloads
  std::vector<ChakraExchange> exchanges = {};  ///< in order
};

/// The codec and the exchange of every step.
struct ChakraExport {
  std::vector<ChakraBucket> buckets = {};  ///< in the order of their exchange
  double period = 1;                       ///< steps from one exchange to the next
  double hold = 0;                         ///< s of the codec in a step without an exchange
  /// True: a bucket is encoded when it is ready. False: after the backward pass.
  bool overlaps = false;
  bool codec_on_cpu = true;                 ///< the codec does not occupy the accelerator
  std::vector<ChakraAttribute> about = {};  ///< the origin of sizes and times, for the file
};

/// Writes a file MODEL.RANK.et for each selected rank, with all selected steps one after the other.
/// Ranks are renumbered from 0. The attribute `comm_size` of a collective is the same for all
/// ranks, as simulators expect: the largest payload of the selected ranks, in whole bytes.
/// `payload_size` is the rank's own.
/// @param parts  with all tensors
/// @throws InputError if the folder is not empty; RunError if writing fails, or without the
/// protobuf library. After an error nothing new is left in `out`.
void export_chakra(const Trace& trace, const SliceParts& parts, const ChakraExport& plan,
                   const std::filesystem::path& out);

}  // namespace thinpipe
