#include "workloads/predict/plan_flows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "workloads/exchange/segments.h"

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

}  // namespace

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

}  // namespace thinpipe
