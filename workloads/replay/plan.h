// Which tensors are compressed together, by what, and which payloads leave together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/replay/feed.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Input of one compressor: a tensor, or several one after the other as one long vector; or a slice
/// of such a vector.
struct PlannedUnit {
  TensorInfo info;
  Spec compressor;
  std::vector<std::size_t> tensors;  ///< in the trace, of which it has elements
  std::size_t first = 0;             ///< that it has, of the first of these
  int owner = -1;                    ///< of a slice: the rank that averages it
};

/// Units whose payloads leave together.
struct PlannedBucket {
  std::vector<PlannedUnit> units;
  std::vector<std::size_t> tensors() const;  ///< of all units, each once
};

/// Tensors in buckets by the rule of BucketLimits. Never an empty bucket.
std::vector<std::vector<std::size_t>> bucket_tensors(std::span<const TraceTensor> tensors,
                                                     const BucketLimits& limits);

/// Every tensor is in one unit. Without overlap there is one bucket, and its units are in the order
/// of the trace where they are tensors. Tensors that are compressed alike share a unit of their
/// bucket or model; a rule or min_elements may take some of them out into another one.
std::vector<PlannedBucket> plan_buckets(std::span<const TraceTensor> tensors,
                                        const CompressorRules& rules, const Feed& feed);

/// For the pattern `twoshot`: every unit cut into slices, one a rank, of which each is compressed
/// by itself. Slices differ by slice_grain() elements at most; there are fewer where they would
/// have less than 1024 elements. The i-th of as many slices as ranks is rank i's, others
/// belong to whoever has least.
std::vector<PlannedBucket> sliced(std::vector<PlannedBucket> buckets,
                                  std::span<const TraceTensor> tensors, int ranks);

/// Elements of which slices have whole numbers: those that share a scale, or among which some are
/// chosen (the parameters `block`, `bucket` and `chunk`); 1 where a method has none.
/// @throws InputError as check_spec
std::size_t slice_grain(const Spec& compressor);

}  // namespace thinpipe
