#include "workloads/replay/pace.h"

#include <algorithm>

namespace thinpipe {

double Pace::end() {
  const double took = now_seconds(clock()) - own_begin_;
  own_ += took;
  if (factor_ <= 1) return took;
  // A timer ends tens of microseconds late, which is longer than a short interval. The next
  // intervals are therefore shortened by this delay.
  const double due = begin_ + factor_ * took - overrun_;
  if (now_seconds() < due) wait_until(due);
  overrun_ = now_seconds() - due;
  return took;
}

const char* to_string(Phase phase) {
  constexpr const char* kPhases[] = {"compute", "compress", "exchange", "decode"};
  return kPhases[static_cast<std::size_t>(phase)];
}

double time_in(const Timeline& timeline, Phase phase) {
  Timeline spans;
  for (const PhaseSpan& span : timeline)
    if (span.phase == phase) spans.push_back(span);
  std::sort(spans.begin(), spans.end(),
            [](const PhaseSpan& a, const PhaseSpan& b) { return a.begin < b.begin; });
  double sum = 0, until = spans.empty() ? 0 : spans.front().begin;
  for (const PhaseSpan& span : spans) {
    sum += std::max(0.0, span.end - std::max(span.begin, until));
    until = std::max(until, span.end);
  }
  return sum;
}

}  // namespace thinpipe
