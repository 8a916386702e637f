#include "workloads/replay/half_sums.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe {

HalfSums::HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks)
    : plan_(plan), groups_(std::move(groups)), ranks_(ranks) {
  const SumGroup& last = groups_.back();
  sums_.resize(last.begin + last.elements - groups_.front().begin);
  if (std::any_of(groups_.begin(), groups_.end(),
                  [](const SumGroup& group) { return group.summation.predivides; }))
    divided_.resize(sums_.size());
}

void HalfSums::refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                               const char* what) const {
  const HalfFormat format = half_format(group.summation.element);
  std::size_t unit = group.first;
  for (std::size_t at = 0; unit + 1 < group.last; at += plan_.units[unit++].info.elements)
    if (!half_fits(halves.subspan(at, plan_.units[unit].info.elements), format)) break;
  throw RunError(fmt::format(
      "unit '{}': {} has a magnitude at or above the greatest {} value, {:g}, so the sum would be "
      "wrong; "
      "expected {}smaller gradients (a smaller loss scale)",
      plan_.units[unit].info.name, what, to_string(group.summation.element),
      format == HalfFormat::kFp16 ? 65504.0 : 0x1.fep127,
      format == HalfFormat::kFp16 ? "bf16, or " : ""));
}

void HalfSums::prepare(std::span<const std::byte> own) {
  own_ = {reinterpret_cast<const std::uint16_t*>(own.data()), sums_.size()};
  const float factor = 1.0F / static_cast<float>(ranks_);
  for (const SumGroup& group : groups_) {
    const auto halves = of(own_, group);
    const HalfFormat format = half_format(group.summation.element);
    const bool fits = group.summation.predivides
                          ? half_scale(halves, factor, format, of(std::span(divided_), group))
                          : half_fits(halves, format);
    if (!fits) refuse_overflow(group, halves, "a gradient");
  }
}

void HalfSums::exchange(AllReduce& all_reduce) {
  for (const SumGroup& group : groups_) {
    const bool divided = group.summation.predivides;
    const auto from = of(divided ? std::span<const std::uint16_t>(divided_) : own_, group);
    all_reduce.all_reduce(group.summation.element, std::as_bytes(from),
                          std::as_writable_bytes(of(std::span(sums_), group)),
                          divided ? 1.0F : 1.0F / static_cast<float>(ranks_));
  }
}

void HalfSums::decode(std::span<float> bucket) const {
  for (const SumGroup& group : groups_) {
    const auto halves = of(std::span(sums_), group);
    if (!half_unpack(reinterpret_cast<const std::uint8_t*>(halves.data()),
                     half_format(group.summation.element),
                     bucket.subspan(group.begin, group.elements)))
      refuse_overflow(group, halves, "the sum of an element over all ranks");
  }
}

}  // namespace thinpipe
