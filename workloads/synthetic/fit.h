// Which tensor of a captured trace a synthetic tensor is drawn like, and from what distribution.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/synthetic/magnitudes.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// The distribution of one tensor's values over all ranks and steps of a trace: its empirical
/// quantiles and its share of zeros. Of more than 2^20 values as many are taken, at even distances.
ValueDistribution fit_tensor(const Trace& trace, std::size_t tensor);

/// For every tensor of a model, the captured tensor of its kind (matrices and larger, or vectors)
/// that lies at the same relative depth among those of that kind; of any kind where there is none.
/// @param captured  at least one
std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured);

}  // namespace thinpipe
