// Codec times and payload sizes of a compressor by tensor, from which the profile of any bucketing
// of these tensors can be put together.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/advise/tensor_sample.h"
#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"

namespace thinpipe {

/// Measures a compressor on the sample and returns its profile on the whole trace, with one bucket
/// for each tensor, in the order of the trace. The figures of a tensor are those of the sampled
/// tensor that represents it, in proportion to their elements.
/// @param collective  decides the operation on payloads
/// @param seconds     no further step is measured after this time; at least two are
/// @throws InputError as measure_codec()
CodecProfile profile_by_tensor(const TensorSample& sample, const Trace& trace,
                               const CompressorRules& compressor, const Spec& collective,
                               const SweepOptions& options, double seconds);

/// Joins the buckets of a profile by tensor: the i-th bucket of the result has the tensors
/// groups[i]. Tensors that are in no group are left out.
CodecProfile joined_profile(const CodecProfile& by_tensor,
                            const std::vector<std::vector<std::size_t>>& groups);

/// Returns `by_tensor` with the buckets of the given tensors from `other`, whose compressor they
/// have in place of the first profile's.
CodecProfile with_tensors_of(CodecProfile by_tensor, const CodecProfile& other,
                             const std::vector<std::size_t>& tensors);

}  // namespace thinpipe
