#include "workloads/capture/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/capture/spec_values.h"

namespace thinpipe {

namespace {

constexpr double kMostSteps = 1e9;

}  // namespace

RateSchedule RateSchedule::parse(std::string_view text, std::uint64_t steps) {
  const SpecValues values(text, "schedule");
  values.expect_name({"constant", "step", "decay", "plateau", "cosine"});
  RateSchedule schedule;
  schedule.steps_ = static_cast<double>(std::max<std::uint64_t>(steps, 1));
  const auto in_steps = [&](double length) {
    return length < 1 ? std::round(length * schedule.steps_) : length;
  };
  std::vector<std::string> keys = {"warmup", "start"};
  if (values.name() == "step") {
    keys.insert(keys.end(), {"at", "factor"});
    schedule.form_ = Form::kStep;
    if (!values.has("at")) throw InputError("schedule 'step': at is missing; expected at=0.5/0.75");
    for (const double moment : values.numbers("at", 0, kMostSteps)) {
      schedule.at_.push_back(in_steps(moment));
    }
    schedule.factor_ = values.number("factor", 0.1, 0, 1);
  } else if (values.name() == "decay") {
    keys.insert(keys.end(), {"every", "factor", "from"});
    schedule.form_ = Form::kDecay;
    if (!values.has("every")) throw InputError("schedule 'decay': every is missing");
    // A share too small for one step is one step.
    schedule.every_ = std::max(in_steps(values.number("every", 0, 1e-9, kMostSteps)), 1.0);
    schedule.from_ = in_steps(values.number("from", 0, 0, kMostSteps));
    schedule.factor_ = values.number("factor", 0.5, 0, 1);
  } else if (values.name() == "plateau") {
    keys.insert(keys.end(), {"after", "factor", "least"});
    Plateau plateau;
    const double after = values.number("after", static_cast<double>(plateau.after), 1, kMostSteps);
    if (after != std::floor(after))
      throw InputError(
          fmt::format("schedule 'plateau': after={:g} is no number of evaluations", after));
    plateau.after = static_cast<std::uint64_t>(after);
    plateau.factor = values.number("factor", plateau.factor, 0, 1);
    plateau.least = values.number("least", plateau.least, 0, 1);
    schedule.plateau_ = plateau;
  } else if (values.name() == "cosine") {
    keys.emplace_back("end");
    schedule.form_ = Form::kCosine;
    schedule.end_ = values.number("end", 0, 0, 1);
  }
  values.expect_keys(keys);
  schedule.warmup_ = in_steps(values.number("warmup", 0, 0, kMostSteps));
  schedule.start_ = values.number("start", 0, 0, 1);
  return schedule;
}

double Plateau::factor_after(std::span<const double> losses) const {
  double factor_now = 1, best = std::numeric_limits<double>::infinity();
  std::uint64_t without = 0;
  for (const double loss : losses) {
    without = loss < best ? 0 : without + 1;
    best = std::min(best, loss);
    if (without < after) continue;
    factor_now = std::max(least, factor_now * factor);
    without = 0;
  }
  return factor_now;
}

double RateSchedule::without_warmup(double step) const {
  switch (form_) {
    case Form::kConstant:
      return 1;
    case Form::kStep:
      return std::pow(factor_, std::count_if(at_.begin(), at_.end(),
                                             [&](double moment) { return step >= moment; }));
    case Form::kDecay:
      return step < from_ ? 1 : std::pow(factor_, std::floor((step - from_) / every_));
    case Form::kCosine:
      break;
  }
  constexpr double kPi = 3.141592653589793;
  return end_ + (1 - end_) * 0.5 * (1 + std::cos(kPi * step / steps_));
}

double RateSchedule::factor(std::uint64_t step) const {
  const double at = std::min(static_cast<double>(step), steps_ - 1);
  if (at >= warmup_) return without_warmup(at);
  // Step 0 has one share of the way behind it already, so that a start of 0 moves something.
  const double share = (at + 1) / (warmup_ + 1);
  return start_ + share * (without_warmup(warmup_) - start_);
}

}  // namespace thinpipe
