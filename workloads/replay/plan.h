// The plan of a step: which tensors are compressed together and by which compressor, and which
// payloads are sent together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/replay/bucketing.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Input of one compressor: a tensor, several tensors one after the other as one long vector, or a
/// slice of such a vector.
struct PlannedUnit {
  TensorInfo info;
  Spec compressor;
  std::vector<std::size_t> tensors;  ///< of the trace, whose elements the unit has
  std::size_t first = 0;             ///< the unit's first element in the first of `tensors`
  int owner = -1;                    ///< of a slice: the rank that averages it
};

/// Units whose payloads are sent together.
struct PlannedBucket {
  std::vector<PlannedUnit> units;
  std::vector<std::size_t> tensors() const;  ///< of all units, each once
};

/// Returns the tensors of each bucket by the rule of BucketLimits. No bucket is empty.
std::vector<std::vector<std::size_t>> bucket_tensors(std::span<const TraceTensor> tensors,
                                                     const BucketLimits& limits);

/// Returns the buckets of a step. Every tensor is in one unit. With fragments, each is a bucket of
/// consecutive tensors. Otherwise, without overlap there is one bucket;
/// if its units are tensors, they are in the order of the trace. If the granularity is a bucket or
/// the model, all tensors in it that have the same compressor share one unit. Tensors to which a
/// rule or min_elements gives another compressor are in another unit.
/// @throws InputError for more fragments than tensors
std::vector<PlannedBucket> plan_buckets(std::span<const TraceTensor> tensors,
                                        const CompressorRules& rules, const Bucketing& bucketing);

/// Cuts every unit into slices at slice_ends(), which are compressed separately (the collective
/// `twoshot`). If there is one slice for each rank, rank i averages the i-th slice. Otherwise each
/// slice goes to the rank that has the fewest elements so far.
std::vector<PlannedBucket> sliced(std::vector<PlannedBucket> buckets,
                                  std::span<const TraceTensor> tensors, int ranks);

}  // namespace thinpipe
