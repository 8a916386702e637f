// Units of a replayed job as parameter servers exchange them: who has which, how long payloads are.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// What servers average and compress by itself: what one compressor of a worker encodes, or a piece
/// of it (pieces.h). The same list on all ranks, in the same order.
struct ReplayUnit {
  TensorInfo tensor;       ///< a tensor, a bucket of several, or a piece: `fc1.weight[8190..16379]`
  Spec compressor;         ///< of what is pushed
  std::size_t offset = 0;  ///< of its first element in the aggregate
  std::size_t bucket = 0;  ///< which it leaves with
  int owner = -1;          ///< PlannedUnit::owner
};

/// All units, bucket after bucket, as they lie in Replay::aggregate() where there are servers.
std::vector<ReplayUnit> replay_units(std::span<const PlannedBucket> buckets,
                                     const PushPullOptions& options);

/// The order in which workers push a bucket's units, by their number in it. Those of which servers
/// answer no more than is pushed leave the largest first, others the smallest first: what is left
/// to be pulled when all is pushed, and to be pushed before anything is pulled, is then little.
/// (Johnson's rule for two machines, Naval Research Logistics Quarterly 1, 1954.)
std::vector<std::size_t> push_order(std::span<const PlannedUnit> units,
                                    const PushPullOptions& options);

/// Compresses a unit's answers, on its server; decodes them on a worker. Null where the compressor
/// of what is pushed can do that. @throws InputError as make_compressor
std::unique_ptr<Compressor> make_pull_compressor(const TensorInfo& tensor, const Spec& push,
                                                 const PushPullOptions& options,
                                                 const CompressorSettings& settings);

/// Who has which unit and how long payloads may be; the same on all ranks.
PushPullLayout push_pull_layout(const std::vector<ReplayUnit>& units,
                                const PushPullOptions& options, int workers,
                                const CompressorSettings& settings);

/// Of `values`, which lie as the aggregate does, those whose units a server has, unit by unit.
std::vector<float> part_of_server(const std::vector<ReplayUnit>& units,
                                  const PushPullLayout& layout, int server,
                                  std::span<const float> values);

}  // namespace thinpipe
