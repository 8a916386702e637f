#include "harness/bench/device/measure.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/splitmix64.h"
#include "harness/bench/measure.h"

namespace thinpipe {
namespace {

// Each has one mark or two in memory, and on a GPU is some microseconds at least.
constexpr int kMostCalls = 20000;

// How many calls fill the time: more and more of them are tried.
int calls_needed(DeviceClock& clock, const DeviceTimed& timed, double min_time) {
  for (int calls = 1;;) {
    const double seconds = take_slice(clock, timed, calls).wall * calls;
    if (seconds >= min_time || calls >= kMostCalls) return calls;
    // A tenth more than it seems to take, and not from a few calls, of which the first are slower.
    const double wanted = 1.1 * calls * min_time / std::max(seconds, 1e-9);
    calls = static_cast<int>(
        std::clamp(std::ceil(wanted), calls + 1.0, std::min(10.0 * calls, double{kMostCalls})));
  }
}

// Indices of `count` things, each `repetitions` times.
std::vector<std::size_t> shuffled(std::size_t count, int repetitions, std::uint64_t seed) {
  std::vector<std::size_t> turns;
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t i = 0; i < count; ++i) turns.push_back(i);
  SplitMix64 random(seed);
  for (std::size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[random.below(i)]);
  return turns;
}

// What goes wrong with one of them stops that one alone.
template <class Work>
void guard_timing(DeviceTiming& timing, Work work) {
  if (!timing.error.empty()) return;
  try {
    work();
  } catch (const std::exception& error) {
    timing.error = error.what();
  }
}

}  // namespace

DeviceTimings measure_on_device(DeviceClock& clock, const std::vector<DeviceTimed>& what,
                                const BenchOptions& options,
                                const std::function<void(const std::string&)>& progress) {
  DeviceTimings timings;
  const auto turn = [&](std::size_t i) -> DeviceTiming& {
    if (interrupted()) throw RunError("interrupted");
    progress(what[i].name);
    return timings[what[i].name];
  };
  for (std::size_t i = 0; i < what.size(); ++i) {
    DeviceTiming& timing = turn(i);
    guard_timing(timing, [&] { timing.calls = calls_needed(clock, what[i], options.min_time); });
  }
  std::size_t place = 0;
  for (const std::size_t i : shuffled(what.size(), options.repetitions, options.seed)) {
    DeviceTiming& timing = turn(i);
    guard_timing(timing, [&] {
      what[i].call();
      const DeviceSlice slice = take_slice(clock, what[i], timing.calls);
      timing.device.push_back(slice.device);
      timing.wall.push_back(slice.wall);
      timing.cpu.push_back(slice.cpu);
      timing.order.push_back(place);
    });
    ++place;
  }
  return timings;
}

}  // namespace thinpipe
