// Which tensors are compressed together, by what, and which payloads leave together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/replay/feed.h"
#include "workloads/replay/rules.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// What one compressor works on: a tensor, or several one after the other as one long vector.
struct PlannedUnit {
  TensorInfo info;
  Spec compressor;
  std::vector<std::size_t> tensors;  ///< in the trace
};

/// Units whose payloads leave together.
struct PlannedBucket {
  std::vector<PlannedUnit> units;
  std::vector<std::size_t> tensors() const;  ///< of all units
};

/// Tensors in buckets by the rule of BucketLimits. Never an empty bucket.
std::vector<std::vector<std::size_t>> bucket_tensors(std::span<const TraceTensor> tensors,
                                                     const BucketLimits& limits);

/// Every tensor is in one unit. Without overlap there is one bucket, and its units are in the order
/// of the trace where they are tensors. Tensors that are compressed alike share a unit of their
/// bucket or model; a rule or min_elements may take some of them out into another one.
std::vector<PlannedBucket> plan_buckets(std::span<const TraceTensor> tensors,
                                        const CompressorRules& rules, const Feed& feed);

}  // namespace thinpipe
