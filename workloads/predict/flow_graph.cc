// The messages of patterns that are plans, of sparse all-reduces and qgZ, and of parameter servers.
#include "workloads/predict/flow_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/plans.h"
#include "workloads/exchange/qgz.h"
#include "workloads/exchange/segments.h"
#include "workloads/exchange/sparse_pairs.h"
#include "workloads/exchange/streams.h"

namespace thinpipe {
namespace {

// A part in a step, and how often its segments must have been received before.
struct FlowPiece {
  int part;
  std::uint32_t received;
};

// All steps from a rank to another with one tag.
struct FlowWay {
  int from, to, tag;
  bool paced = false;
  std::vector<FlowPiece> sent = {}, received = {};  // in the same order
};

// Those of one rank in the order in which its plan first sends on them: so they take turns.
class FlowWays {
 public:
  explicit FlowWays(const std::vector<AllReducePlan>& plans) {
    for (int rank = 0; rank < static_cast<int>(plans.size()); ++rank)
      for (const AllReduceStep& step : plans[static_cast<std::size_t>(rank)].steps)
        if (step.kind == StepKind::kSend) way(rank, step.peer, step.tag).paced |= step.paced;
    for (int rank = 0; rank < static_cast<int>(plans.size()); ++rank)
      add(rank, plans[static_cast<std::size_t>(rank)]);
  }

  const std::vector<FlowWay>& all() const { return ways_; }

 private:
  FlowWay& way(int from, int to, int tag) {
    const auto [at, is_new] = index_.try_emplace({from, to, tag}, ways_.size());
    if (is_new) ways_.push_back({.from = from, .to = to, .tag = tag});
    return ways_[at->second];
  }
  void add(int rank, const AllReducePlan& plan) {
    std::vector<std::uint32_t> received(static_cast<std::size_t>(plan.parts));
    for (const AllReduceStep& step : plan.steps) {
      const bool out = step.kind == StepKind::kSend;
      FlowWay& on = out ? way(rank, step.peer, step.tag) : way(step.peer, rank, step.tag);
      for (int part = step.first; part < step.last; ++part) {
        std::uint32_t& so_far = received[static_cast<std::size_t>(part)];
        (out ? on.sent : on.received).push_back({part, so_far});
        so_far += out ? 0 : 1;
      }
    }
  }

  std::vector<FlowWay> ways_;
  std::map<std::tuple<int, int, int>, std::size_t> index_;
};

// As AllReduceFlow carries them out for arrays of so many floats, segment by segment.
FlowGraph reduce_flows(const std::vector<AllReducePlan>& plans, std::size_t elements) {
  const Parts parts{elements, static_cast<std::size_t>(plans.at(0).parts)};
  FlowGraph graph{.ranks = static_cast<int>(plans.size()),
                  .places = parts.first_segment(parts.count)};
  const FlowWays ways(plans);
  for (const FlowWay& way : ways.all()) {
    FlowQueue& queue = graph.queues.emplace_back();
    queue.from = way.from;
    for (std::size_t i = 0; i < way.sent.size(); ++i) {
      const auto part = static_cast<std::size_t>(way.sent[i].part);
      const std::size_t first = parts.first_segment(part), size = parts.size(part);
      const std::size_t segment = parts.segment();
      for (std::size_t at = 0; at < size; at += segment) {
        const auto place = static_cast<std::uint32_t>(first + at / segment);
        queue.messages.push_back(
            {.to = static_cast<std::uint32_t>(way.to),
             .place = place,
             .bytes = static_cast<double>(std::min(segment, size - at) * parts.element_bytes),
             .after = way.sent[i].received,
             .waits_at = place,
             .gate = way.received.at(i).received});
      }
    }
  }
  // What one that is paced keeps pace with comes with the same tag.
  for (std::size_t out = 0; out < ways.all().size(); ++out)
    for (std::size_t in = 0; in < ways.all().size(); ++in)
      if (ways.all()[out].paced && ways.all()[in].to == ways.all()[out].from &&
          ways.all()[in].tag == ways.all()[out].tag)
        graph.queues[out].pace = static_cast<int>(in);
  return graph;
}

// As AllGatherFlow does for messages of so many bytes by rank; before each goes its length.
FlowGraph gather_flows(const std::vector<AllGatherPlan>& plans,
                       std::span<const std::size_t> sizes) {
  // A place for each message's segments at each rank; 0 stands for what a rank has of its own.
  std::vector<std::size_t> framed, first = {1};
  for (const std::size_t size : sizes) {
    framed.push_back(size + sizeof(std::uint64_t));
    first.push_back(first.back() + segments_of_bytes(framed.back()));
  }
  FlowGraph graph{.ranks = static_cast<int>(plans.size()), .places = first.back()};
  for (int rank = 0; rank < graph.ranks; ++rank)
    for (const GatherChannel& channel : plans[static_cast<std::size_t>(rank)]) {
      if (!channel.out) continue;
      FlowQueue& queue = graph.queues.emplace_back();
      queue.from = rank;
      for (const int message : channel.messages) {
        const auto of = static_cast<std::size_t>(message);
        for (std::size_t at = 0; at < framed[of]; at += kSegmentBytes) {
          const auto place = static_cast<std::uint32_t>(first[of] + at / kSegmentBytes);
          queue.messages.push_back(
              {.to = static_cast<std::uint32_t>(channel.peer),
               .place = place,
               .bytes = static_cast<double>(std::min(kSegmentBytes, framed[of] - at)),
               .after = message == rank ? 0U : 1U,
               .waits_at = place,
               .gate = 0});
        }
      }
    }
  return graph;
}

template <class Plan, class Planner>
std::vector<Plan> of_all_ranks(int ranks, Planner planner) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; ++rank) plans.push_back(planner(ranks, rank));
  return plans;
}

constexpr double kUnitHead = static_cast<double>(kUnitHeadBytes);

std::uint32_t cut_into(double payload, double segment) {
  return static_cast<std::uint32_t>(std::ceil((payload + kUnitHead) / segment));
}

}  // namespace

std::optional<FlowGraph> all_reduce_flows(const Spec& pattern, std::size_t elements, int ranks) {
  check_pattern(pattern, ranks);
  const auto flows = [&](auto planner) {
    return reduce_flows(of_all_ranks<AllReducePlan>(ranks, planner), elements);
  };
  if (reduces_by_ring(pattern)) return flows(ring_all_reduce);
  if (pattern.name == "recursive-doubling") return flows(recursive_doubling_all_reduce);
  if (pattern.name == "halving-doubling") return flows(halving_doubling_all_reduce);
  if (pattern.name == "tree") return flows(tree_all_reduce);
  if (pattern.name == "qgz") return qgz_flows(pattern, elements, ranks);
  if (pattern.name != "hierarchical") return std::nullopt;
  return flows([group = pattern_group(pattern)](int n, int rank) {
    return hierarchical_all_reduce(n, rank, group);
  });
}

std::optional<FlowGraph> all_gather_flows(const Spec& pattern, std::span<const std::size_t> sizes) {
  const int ranks = static_cast<int>(sizes.size());
  check_pattern(pattern, ranks);
  const auto flows = [&](auto planner) {
    return gather_flows(of_all_ranks<AllGatherPlan>(ranks, planner), sizes);
  };
  if (pattern.name == "ring") return flows(ring_all_gather);
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return flows(recursive_doubling_all_gather);
  if (pattern.name == "tree") return flows(tree_all_gather);
  if (pattern.name != "hierarchical") return std::nullopt;
  return flows([group = pattern_group(pattern)](int n, int rank) {
    return hierarchical_all_gather(n, rank, group);
  });
}

double least_messages(const Spec& pattern, int ranks) {
  const double n = ranks;
  if (pattern.name == "tree") return 2 * (n - 1);
  if (pattern.name == "recursive-doubling") {
    const FoldedRanks fold(ranks, 0);
    double steps = 0;
    for (int folded = fold.folded; folded > 1; folded /= 2) ++steps;
    return fold.folded * steps + 2.0 * fold.extra;
  }
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, pattern_group(pattern));
    return 2 * n * groups.groups * groups.group;
  }
  if (pattern.name == "qgz") {  // Bruck's steps, and all others of its group and its ring of groups
    const double group = pattern_group(pattern);
    return n * (group - 1 + n / group - 1 + std::ceil(std::log2(n)));
  }
  if (pattern.name == "halving-doubling" || reduces_by_ring(pattern)) return 2 * n * (n - 1);
  return 0;
}

FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages) {
  double bytes = 0;
  for (const FlowUnit& unit : units) bytes += workers * (unit.push + unit.pull + 2 * kUnitHead);
  const double segment = std::max(static_cast<double>(kSegmentBytes), bytes / most_messages);
  const bool colocated = servers == 0;
  // Payloads of a unit that come over the network, over which all of its work is spread.
  const int come = colocated ? workers - 1 : workers;
  FlowGraph graph{.ranks = workers + servers, .places = units.size() + 1};
  for (int server = 0; server < (colocated ? workers : servers); ++server)
    for (int worker = 0; worker < workers; ++worker) {
      const int rank = colocated ? server : workers + server;
      if (worker == rank) continue;
      FlowQueue push{.from = worker}, pull{.from = rank};
      for (std::size_t i = 0; i < units.size(); ++i) {
        const FlowUnit& unit = units[i];
        if (unit.server != server) continue;
        const auto place = static_cast<std::uint32_t>(i + 1);
        const std::uint32_t up = cut_into(unit.push, segment), down = cut_into(unit.pull, segment);
        const double work = (unit.decode * workers + unit.compress) / come;
        for (std::uint32_t part = 0; part < up; ++part)
          push.messages.push_back({.to = static_cast<std::uint32_t>(rank),
                                   .place = place,
                                   .bytes = (unit.push + kUnitHead) / up,
                                   .work = part + 1 == up ? work : 0});
        for (std::uint32_t part = 0; part < down; ++part)
          pull.messages.push_back({.to = static_cast<std::uint32_t>(worker),
                                   .place = 0,
                                   .bytes = (unit.pull + kUnitHead) / down,
                                   .after = up * static_cast<std::uint32_t>(come),
                                   .waits_at = place});
      }
      if (push.messages.empty()) continue;
      graph.queues.push_back(std::move(push));
      graph.queues.push_back(std::move(pull));
    }
  return graph;
}

namespace {

// Collects messages of all ranks, cut into segments, of exchanges in phases: a rank sends what it
// has when all that came in the phases before is there.
class PhaseFlows {
 public:
  /// How a rank's messages of one phase leave.
  enum class Order {
    kOneByOne,  ///< in the order in which they were added
    kTurns,     ///< those to different ranks take turns
  };
  PhaseFlows(int ranks, Order order);

  /// What is sent from here on waits for all that its sender was sent before.
  void begin_phase() { there_ = received_; }
  void send(int from, int to, std::size_t bytes);
  /// Phases by Bruck's algorithm, of blocks of so many bytes by rank (BlockGather).
  void gather_blocks(std::span<const std::size_t> blocks);

  FlowGraph take();

 private:
  FlowQueue& queue(int from, int to);

  Order order_;
  int ranks_;
  FlowGraph graph_;
  std::vector<int> queues_;                      ///< by sender, or by sender and receiver; -1: none
  std::vector<std::uint32_t> received_, there_;  ///< segments, by rank
};

PhaseFlows::PhaseFlows(int ranks, Order order)
    : order_(order),
      ranks_(ranks),
      graph_{.ranks = ranks, .places = 1},
      queues_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), -1),
      received_(static_cast<std::size_t>(ranks)),
      there_(received_) {}

FlowQueue& PhaseFlows::queue(int from, int to) {
  const int place = from * ranks_ + (order_ == Order::kTurns ? to : 0);
  int& index = queues_[static_cast<std::size_t>(place)];
  if (index < 0) {
    index = static_cast<int>(graph_.queues.size());
    graph_.queues.push_back({.from = from});
  }
  return graph_.queues[static_cast<std::size_t>(index)];
}

void PhaseFlows::send(int from, int to, std::size_t bytes) {
  FlowQueue& way = queue(from, to);
  for (std::size_t at = 0; at < bytes; at += kSegmentBytes) {
    way.messages.push_back({.to = static_cast<std::uint32_t>(to),
                            .bytes = static_cast<double>(std::min(kSegmentBytes, bytes - at)),
                            .after = there_[static_cast<std::size_t>(from)]});
    ++received_[static_cast<std::size_t>(to)];
  }
}

void PhaseFlows::gather_blocks(std::span<const std::size_t> blocks) {
  const std::size_t n = blocks.size();
  for (std::size_t have = 1; have < n; have *= 2) {
    begin_phase();
    for (std::size_t rank = 0; rank < n; ++rank) {
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < std::min(have, n - have); ++i) bytes += blocks[(rank + i) % n];
      send(static_cast<int>(rank), static_cast<int>((rank + n - have) % n), bytes);
    }
  }
}

FlowGraph PhaseFlows::take() { return std::move(graph_); }

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
  const Qgz qgz(qgz_options(pattern_parameters(pattern)), ranks);
  const auto n = static_cast<std::size_t>(ranks);
  const auto g = static_cast<std::size_t>(pattern_group(pattern));
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
