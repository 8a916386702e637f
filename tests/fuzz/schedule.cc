// Fuzzes a schedule, a CSV table or a mahimahi trace with arbitrary text. The text must parse to a
// self-consistent function of time, or be refused with an InputError.
#include "netem/schedule/schedule.h"

#include <cmath>

#include "base/error.h"
#include "netem/schedule/part.h"
#include "tests/fuzz/input.h"

namespace {

using namespace thinpipe;

void check(const Schedule& schedule) {
  double t = 0, sum = 0;
  for (int i = 0; i < 50 && t < 100; ++i) {
    const double next = schedule.next_change(t, 0.05);
    fuzz::require(next > t, "changes lie ahead");
    const double end = std::min(next, t + 1);
    const double rate = schedule.mean(t, end).rate;
    // Rounding is relative to the highest rate, and a difference of two long integrals.
    const double slack = 1e-6 * schedule.most_rate();
    // Corners of different kinds may lie a rounding error apart, which is too short for a mean.
    if (end - t > 1e-4)
      fuzz::require(rate >= -slack && rate <= schedule.most_rate() + slack, "means are within");
    fuzz::require(schedule.at(t).rate <= schedule.most_rate() + slack, "values are within");
    sum += schedule.bits(t, end);
    t = end;
  }
  fuzz::require(std::fabs(sum - schedule.bits(0, t)) <= 1e-6 * (schedule.most_rate() * t + 1),
                "integrals add up");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const LinkState link = {100e6, 0.01, 0};
  try {
    if (data[0] == 'c') {
      for (const SchedulePart& part : parse_schedule_csv(text, "table", size % 2 == 0, kNever))
        check(ScheduleSpec({part}, std::nullopt, "", "").on(link));
    } else if (data[0] == 'm') {
      const CurvePtr curve = parse_mahimahi(text, "trace", 0.05);
      check({curve, curve, curve});
    } else {
      const ScheduleSpec spec = parse_schedule(text);
      if (!spec.empty())
        fuzz::require(parse_schedule(spec.to_string()).to_string() == spec.to_string(),
                      "its text is canonical");
      check(spec.on(link));
    }
  } catch (const InputError&) {
  }
  return 0;
}
