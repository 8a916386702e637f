#include "workloads/collectives/flow_graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "workloads/collectives/collectives.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

// A slice in a step, and how often its segments must have been received before.
struct FlowPiece {
  int part;
  std::uint32_t received;
};

// All steps from one rank to another with one tag.
struct FlowWay {
  int from, to, tag;
  bool paced = false;
  std::vector<FlowPiece> sent = {}, received = {};  // in the same order
};

// Returns all ways of an all-reduce; a way is a sender, a receiver and a tag. The ways of one
// sender are in the order in which its plan first sends on them. They take turns in this order.
std::vector<FlowWay> flow_ways(const std::vector<AllReducePlan>& plans) {
  std::vector<FlowWay> ways;
  std::map<std::tuple<int, int, int>, std::size_t> index;
  const auto way = [&](int from, int to, int tag) -> FlowWay& {
    const auto [at, is_new] = index.try_emplace({from, to, tag}, ways.size());
    if (is_new) ways.push_back({.from = from, .to = to, .tag = tag});
    return ways[at->second];
  };
  const int ranks = static_cast<int>(plans.size());
  for (int rank = 0; rank < ranks; ++rank)
    for (const AllReduceStep& step : plans[static_cast<std::size_t>(rank)].steps)
      if (step.kind == StepKind::kSend) way(rank, step.peer, step.tag).paced |= step.paced;
  for (int rank = 0; rank < ranks; ++rank) {
    const AllReducePlan& plan = plans[static_cast<std::size_t>(rank)];
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
  return ways;
}

// Appends so many bytes, segment by segment. Each segment has a place of its own, from `first` on.
void add_segments(FlowQueue& queue, int to, std::size_t first, std::size_t bytes,
                  std::uint32_t after, std::uint32_t gate) {
  for (std::size_t at = 0; at < bytes; at += kSegmentBytes) {
    const auto place = static_cast<std::uint32_t>(first + at / kSegmentBytes);
    queue.messages.push_back({.to = static_cast<std::uint32_t>(to),
                              .place = place,
                              .bytes = static_cast<double>(std::min(kSegmentBytes, bytes - at)),
                              .after = after,
                              .waits_at = place,
                              .gate = gate});
  }
}

// Returns the messages of AllReduceFlow for arrays of so many floats, segment by segment.
FlowGraph reduce_flows(const std::vector<AllReducePlan>& plans, std::size_t elements) {
  const Parts parts{elements, static_cast<std::size_t>(plans.at(0).parts)};
  FlowGraph graph{.ranks = static_cast<int>(plans.size()),
                  .places = parts.first_segment(parts.count)};
  const std::vector<FlowWay> ways = flow_ways(plans);
  for (const FlowWay& way : ways) {
    FlowQueue& queue = graph.queues.emplace_back();
    queue.from = way.from;
    for (std::size_t i = 0; i < way.sent.size(); ++i) {
      const auto part = static_cast<std::size_t>(way.sent[i].part);
      add_segments(queue, way.to, parts.first_segment(part), parts.size(part) * parts.element_bytes,
                   way.sent[i].received, way.received.at(i).received);
    }
  }
  // A paced queue keeps pace with the incoming queue of the same tag.
  for (std::size_t out = 0; out < ways.size(); ++out)
    for (std::size_t in = 0; in < ways.size(); ++in)
      if (ways[out].paced && ways[in].to == ways[out].from && ways[in].tag == ways[out].tag)
        graph.queues[out].pace = static_cast<int>(in);
  return graph;
}

// Returns the messages of AllGatherFlow for messages of so many bytes by rank, each after its
// length.
FlowGraph gather_flows(const std::vector<AllGatherPlan>& plans,
                       std::span<const std::size_t> sizes) {
  // Each rank has one counter (place) for each segment of each message. The numbers of these
  // counters begin at 1.
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
        add_segments(queue, channel.peer, first[of], framed[of], message == rank ? 0 : 1, 0);
      }
    }
  return graph;
}

constexpr double kUnitHead = static_cast<double>(kUnitHeadBytes);

std::uint32_t cut_into(double payload, double segment) {
  return static_cast<std::uint32_t>(std::ceil((payload + kUnitHead) / segment));
}

}  // namespace

std::optional<FlowGraph> all_reduce_flows(const Spec& collective, std::size_t elements, int ranks) {
  check_collective(collective, ranks);
  const CollectiveInfo& info = find_collective(collective.name);
  const Parameters parameters(info.parameters, collective);
  if (!info.reduce) return std::nullopt;
  if (info.reduce->flows != nullptr) return info.reduce->flows(parameters, elements, ranks);
  if (info.reduce->plan == nullptr) return std::nullopt;
  std::vector<AllReducePlan> plans;
  for (int rank = 0; rank < ranks; ++rank)
    plans.push_back(info.reduce->plan(parameters, ranks, rank));
  return reduce_flows(plans, elements);
}

std::optional<FlowGraph> all_gather_flows(const Spec& collective,
                                          std::span<const std::size_t> sizes) {
  const int ranks = static_cast<int>(sizes.size());
  check_collective(collective, ranks);
  const CollectiveInfo& info = find_collective(collective.name);
  const Parameters parameters(info.parameters, collective);
  if (!info.gather) return std::nullopt;
  if (info.gather->flows != nullptr) return info.gather->flows(parameters, sizes);
  if (info.gather->plan == nullptr) return std::nullopt;
  std::vector<AllGatherPlan> plans;
  for (int rank = 0; rank < ranks; ++rank)
    plans.push_back(info.gather->plan(parameters, ranks, rank));
  return gather_flows(plans, sizes);
}

std::optional<FlowGraph> sparse_flows(const Spec& collective, const SparseSizes& sizes, int ranks) {
  check_collective(collective, ranks);
  const CollectiveInfo& info = find_collective(collective.name);
  if (!info.sparse) return std::nullopt;
  return info.sparse->flows(sizes, ranks);
}

FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages) {
  double bytes = 0;
  for (const FlowUnit& unit : units) bytes += workers * (unit.push + unit.pull + 2 * kUnitHead);
  const double segment = std::max(static_cast<double>(kSegmentBytes), bytes / most_messages);
  const bool colocated = servers == 0;
  // Payloads of a unit that cross the network, over which all of the unit's work is spread.
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

}  // namespace thinpipe
