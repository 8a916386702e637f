#include "harness/bench/device/slice.h"

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "harness/bench/validate.h"

namespace thinpipe {
namespace {

constexpr int kAttempts = 3;
constexpr double kShare = 0.02;           // of the time, by which two clocks may differ
constexpr double kAllowedSeconds = 1e-4;  // and beside it: to start, to wait, resolution of marks

struct Span {
  double sum = 0;    // of all calls' own times
  double whole = 0;  // from the first call's begin to the last one's end, by the device
  double wall = 0;   // by the host
  double cpu = 0;    // of the calling thread

  double allowed() const { return kShare * wall + kAllowedSeconds; }
  bool agrees() const {
    return std::fabs(wall - whole) <= allowed() && sum <= whole + allowed() && sum >= 0;
  }
};

double thread_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Calls that wait for the device have two marks each; what is queued has two in all, since marks
// between kernels would be timed with them.
Span time_calls(DeviceClock& clock, const DeviceTimed& timed, int calls) {
  clock.wait_for_all();
  const double cpu = thread_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::size_t last = 1;
  for (int i = 0; i < calls; ++i) {
    if (timed.waits) {
      last = 2 * static_cast<std::size_t>(i) + 1;
      clock.mark_waits(last);
    }
    if (timed.waits || i == 0) clock.mark(last - 1);
    timed.call();
  }
  clock.mark_waits(std::nullopt);
  if (!timed.waits) clock.mark(last);
  clock.wait_for_all();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  Span span{.sum = 0,
            .whole = clock.seconds(0, last),
            .wall = wall.count(),
            .cpu = thread_seconds() - cpu};
  for (std::size_t mark = 0; mark < last; mark += 2) span.sum += clock.seconds(mark, mark + 1);
  return span;
}

}  // namespace

DeviceSlice take_slice(DeviceClock& clock, const DeviceTimed& timed, int calls) {
  Span span;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    span = time_calls(clock, timed, calls);
    if (span.agrees())
      return {.device = span.sum / calls, .wall = span.wall / calls, .cpu = span.cpu / calls};
  }
  throw ValidationError(fmt::format(
      "{} calls took {:.4g} ms by the host's clock, {:.4g} ms by the device's ({:.4g} ms added "
      "up): the device's marks do not enclose the work, or something else uses the machine",
      calls, 1e3 * span.wall, 1e3 * span.whole, 1e3 * span.sum));
}

}  // namespace thinpipe
