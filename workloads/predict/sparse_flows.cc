#include "workloads/predict/sparse_flows.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "workloads/exchange/patterns.h"
#include "workloads/exchange/qgz.h"
#include "workloads/exchange/sparse_patterns.h"
#include "workloads/exchange/sparse_vector.h"
#include "workloads/exchange/streams.h"
#include "workloads/predict/phase_flows.h"

namespace thinpipe {

namespace {

std::size_t framed_bytes(std::size_t pairs) {
  return kStreamLengthBytes + pairs * sizeof(SparsePair);
}

FlowGraph gtopk_flows(const SparseSizes& sizes, int ranks) {
  PhaseFlows flows(ranks, PhaseFlows::Order::kOneByOne);
  const auto pairs_of = [&](int below) {
    return framed_bytes(std::min(sizes.k, sizes.own * static_cast<std::size_t>(below)));
  };
  for (int step = 1; step < ranks; step *= 2) {
    flows.begin_phase();
    for (int rank = step; rank < ranks; rank += 2 * step)
      flows.send(rank, rank - step, pairs_of(std::min(step, ranks - rank)));
  }
  for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) / 2; step > 0;
       step /= 2) {
    flows.begin_phase();
    for (int rank = 0; rank + step < ranks; rank += 2 * step)
      flows.send(rank, rank + step, pairs_of(ranks));
  }
  return flows.take();
}

FlowGraph oktopk_flows(const SparseSizes& sizes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  PhaseFlows flows(ranks, PhaseFlows::Order::kTurns);
  flows.begin_phase();
  for (int i = 1; i < ranks; ++i)
    for (int rank = 0; rank < ranks; ++rank)
      flows.send(rank, (rank + i) % ranks, framed_bytes(sizes.own / n));
  flows.gather_blocks(std::vector<std::size_t>(n, sizeof(std::uint32_t)));
  flows.gather_blocks(std::vector<std::size_t>(n, sizes.selected / n * sizeof(SparsePair)));
  return flows.take();
}

}  // namespace

std::optional<FlowGraph> sparse_flows(const Spec& pattern, const SparseSizes& sizes, int ranks) {
  check_pattern(pattern, ranks);
  if (pattern.name == "gtopk") return gtopk_flows(sizes, ranks);
  if (pattern.name == "oktopk") return oktopk_flows(sizes, ranks);
  return std::nullopt;
}

FlowGraph qgz_flows(const Spec& pattern, std::size_t elements, int ranks) {
  const Qgz qgz(qgz_options(Parameters(find_pattern(pattern.name).parameters, pattern)), ranks);
  const auto n = static_cast<std::size_t>(ranks);
  const auto g = static_cast<std::size_t>(
      Parameters(find_pattern(pattern.name).parameters, pattern).integer("group"));
  const std::size_t groups = n / g;
  PhaseFlows flows(ranks, PhaseFlows::Order::kTurns);
  flows.begin_phase();
  for (std::size_t i = 1; i < g; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank % g + i) % g;
      flows.send(static_cast<int>(rank), static_cast<int>(rank / g * g + to),
                 qgz.reduced_bytes(qgz.slice(elements, to).size()));
    }
  flows.begin_phase();
  for (std::size_t i = 1; i < groups; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank / g + i) % groups, j = rank % g;
      flows.send(static_cast<int>(rank), static_cast<int>(to * g + j),
                 qgz.reduced_bytes(qgz.chunk(elements, j, to).size()));
    }
  std::vector<std::size_t> blocks;
  for (std::size_t i = 0; i < n; ++i)
    blocks.push_back(qgz.gathered_bytes(qgz.chunk(elements, i % g, i / g).size()));
  flows.gather_blocks(blocks);
  return flows.take();
}

}  // namespace thinpipe
