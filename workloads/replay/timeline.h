// What a rank did when, in one step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thinpipe {

enum class Phase { kCompute, kCompress, kExchange, kDecode };

inline const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kCompute:
      return "compute";
    case Phase::kCompress:
      return "compress";
    case Phase::kExchange:
      return "exchange";
    case Phase::kDecode:
      break;
  }
  return "decode";
}

/// s since the step began. Phases of one thread do not overlap; exchanges may run under the rest
/// and, with parameter servers, under each other.
struct PhaseSpan {
  Phase phase;
  std::size_t bucket;  ///< 0 for compute
  double begin, end;
};

using Timeline = std::vector<PhaseSpan>;

/// s for which `phase` was under way: where several of its spans overlap, once.
inline double time_in(const Timeline& timeline, Phase phase) {
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
