// What a rank did when, in one step.
#pragma once

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

/// s since the step began. Phases of one thread do not overlap; exchanges may run under the rest.
struct PhaseSpan {
  Phase phase;
  std::size_t bucket;  ///< 0 for compute
  double begin, end;
};

using Timeline = std::vector<PhaseSpan>;

/// s of `phase` in all its spans together.
inline double total_of(const Timeline& timeline, Phase phase) {
  double sum = 0;
  for (const PhaseSpan& span : timeline)
    if (span.phase == phase) sum += span.end - span.begin;
  return sum;
}

}  // namespace thinpipe
