// Reads all of a trace, so that a span that reaches out of its file is noticed.
#pragma once

#include "workloads/trace/trace.h"

namespace thinpipe {

/// Every gradient, second moment and time.
inline void touch_every_value(const Trace& trace) {
  double sum = 0;
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        for (const float value : trace.gradient(rank, step, i)) sum += static_cast<double>(value);
        for (const float value : trace.squares(rank, step, i)) sum += static_cast<double>(value);
        sum += trace.times(rank, step).ready.at(i);
      }
    }
  }
  [[maybe_unused]] volatile double sink = sum;  // keeps the loop from being removed
}

}  // namespace thinpipe
