// The closed forms of each pattern; docs/patterns.md derives them.
#pragma once

#include "workloads/exchange/cost/traffic.h"
#include "workloads/exchange/cost/volumes.h"
#include "workloads/exchange/qgz.h"

namespace thinpipe {

Traffic ring_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic ring_gather_traffic(const MessageVolume& messages, int rank);

Traffic doubling_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic halving_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic doubling_gather_traffic(const MessageVolume& messages, int rank);

Traffic tree_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic tree_gather_traffic(const MessageVolume& messages, int rank);

Traffic hierarchical_reduce_traffic(const SummedArray& array, int ranks, int rank, int group);
Traffic qgz_reduce_traffic(std::size_t elements, const QgzOptions& options, int ranks, int rank);

Traffic hierarchical_gather_traffic(const MessageVolume& messages, int rank, int group);

}  // namespace thinpipe
