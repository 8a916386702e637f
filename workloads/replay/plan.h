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

/// Returns the buckets of a step. Every tensor is in one unit. Without overlap there is one bucket;
/// units that are tensors are then in the order of the trace. With a granularity of buckets or of
/// the model, tensors of one compressor share a unit; a rule or min_elements may put some of them
/// into another unit.
std::vector<PlannedBucket> plan_buckets(std::span<const TraceTensor> tensors,
                                        const CompressorRules& rules, const Bucketing& bucketing);

/// Cuts every unit into slices, one a rank, each of which is compressed separately (the collective
/// `twoshot`). Slices differ by slice_grain() elements at most; there are fewer slices where they
/// would have less than 1024 elements. With as many slices as ranks, the i-th is rank i's; else a
/// slice goes to the rank with the fewest elements.
std::vector<PlannedBucket> sliced(std::vector<PlannedBucket> buckets,
                                  std::span<const TraceTensor> tensors, int ranks);

/// Returns the grain of slices, in elements: a slice has a whole number of grains. A grain shares a
/// scale, or elements are selected within it (the parameters `block`, `bucket` and `chunk`); 1
/// where a method has none of these. @throws InputError as check_spec
std::size_t slice_grain(const Spec& compressor);

}  // namespace thinpipe
