#include "workloads/collectives/element_sum.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "compressors/kernels/quantize.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

// The compiler vectorises these loops where arrays do not overlap.
void add_to_own(std::span<float> target, const float* __restrict own,
                const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (own[i] + theirs[i]) * scale;
}

void add_to_sums(std::span<float> target, const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (sums[i] + theirs[i]) * scale;
}

template <class To, class From>
std::span<To> elements(std::span<From> bytes) {
  return {reinterpret_cast<To*>(bytes.data()), bytes.size() / sizeof(To)};
}

// A rank of sum_by_plan().
struct Rank {
  AllReducePlan plan;
  std::vector<float> values;
  std::size_t next = 0;  // step
};

}  // namespace

void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums) {
  if (type != ElementType::kFloat32)
    return half_add(elements<const std::uint16_t>(a), elements<const std::uint16_t>(b), scale,
                    half_format(type), elements<std::uint16_t>(sums));
  const auto theirs = elements<const float>(b);
  if (a.data() == sums.data())
    add_to_sums(elements<float>(sums), theirs.data(), scale);
  else
    add_to_own(elements<float>(sums), elements<const float>(a).data(), theirs.data(), scale);
}

void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out) {
  if (type != ElementType::kFloat32) {
    half_scale(elements<const std::uint16_t>(a), scale, half_format(type),
               elements<std::uint16_t>(out));
    return;
  }
  const auto values = elements<const float>(a);
  std::transform(values.begin(), values.end(), elements<float>(out).begin(),
                 [scale](float value) { return value * scale; });
}

// Ranks take turns; each takes all steps whose messages have been sent.
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
    if (rank.next != rank.plan.steps.size()) throw std::logic_error("an all-reduce plan deadlocks");
  std::copy(ranks[0].values.begin(), ranks[0].values.end(), out.begin());
}

}  // namespace thinpipe
