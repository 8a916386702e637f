// Ranks take turns, each as far as it comes with the messages that are there.
#include "workloads/exchange/plan_sum.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "workloads/exchange/segments.h"

namespace thinpipe {

namespace {

struct Rank {
  AllReducePlan plan;
  std::vector<float> values;
  std::size_t next = 0;  // step
};

}  // namespace

void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out) {
  const int count = static_cast<int>(arrays.size());
  std::vector<Rank> ranks;
  for (int rank = 0; rank < count; ++rank) {
    const auto own = arrays[static_cast<std::size_t>(rank)];
    ranks.push_back({planner(count, rank), {own.begin(), own.end()}});
  }
  if (count == 1)
    for (float& value : ranks[0].values) value = rounded(value * factor, type);
  // By sender, receiver and tag.
  std::map<std::tuple<int, int, int>, std::deque<std::vector<float>>> messages;
  const auto step = [&](int number) {
    Rank& rank = ranks[static_cast<std::size_t>(number)];
    if (rank.next == rank.plan.steps.size()) return false;
    const AllReduceStep& now = rank.plan.steps[rank.next];
    const Parts parts{out.size(), static_cast<std::size_t>(rank.plan.parts), size_of(type)};
    const auto first = static_cast<std::size_t>(now.first);
    const auto range =
        std::span(rank.values)
            .subspan(parts.begin(first), parts.size(first, static_cast<std::size_t>(now.last)));
    if (now.kind == StepKind::kSend) {
      messages[{number, now.peer, now.tag}].emplace_back(range.begin(), range.end());
    } else {
      auto& queue = messages[{now.peer, number, now.tag}];
      if (queue.empty()) return false;
      const std::vector<float> theirs = std::move(queue.front());
      queue.pop_front();
      const float scale = now.completes ? factor : 1.0F;
      for (std::size_t i = 0; i < range.size(); ++i)
        range[i] = now.kind == StepKind::kReplace ? theirs[i]
                                                  : rounded((range[i] + theirs[i]) * scale, type);
    }
    ++rank.next;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < count; ++rank)
      while (step(rank)) moved = true;
  }
  for (const Rank& rank : ranks)
    if (rank.next != rank.plan.steps.size())
      throw std::logic_error("an all-reduce plan waits for ever");
  std::copy(ranks[0].values.begin(), ranks[0].values.end(), out.begin());
}

}  // namespace thinpipe
