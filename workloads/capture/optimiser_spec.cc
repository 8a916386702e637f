#include "workloads/capture/optimiser_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/key_values.h"
#include "base/text.h"

namespace thinpipe {
namespace {

// Above the maximum every update overflows; below the minimum no update has an effect.
constexpr double kMaxRate = 1e30;
constexpr double kMinRate = 1e-30;
constexpr double kMaxBeta = 0.9999999;
constexpr double kMaxScheduleSteps = 1e9;
constexpr std::uint64_t kMaxEvaluations = 1'000'000'000;

// Returns the name before the key-value pairs, which must be one of `names`.
std::string take_name(const KeyValues& items, std::string_view text,
                      const std::vector<std::string>& names) {
  const std::string name(text.substr(0, text.find(':')));
  if (std::find(names.begin(), names.end(), name) == names.end())
    items.fail(
        fmt::format("expected one of {}{}", fmt::join(names, ", "), did_you_mean(name, names)));
  return name;
}

// Parses numbers such as "0.5/0.75".
std::vector<double> take_numbers(KeyValues& items, const std::string& key, double least,
                                 double most) {
  const std::string value = items.take(key);
  std::vector<double> numbers;
  for (const std::string& part : split(value, '/')) {
    const auto number = parse_number<double>(part, least, most);
    if (!number)
      items.fail_value(
          key, value,
          fmt::format("expected numbers from {:g} to {:g}, such as 0.5/0.75", least, most));
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

OptimiserSpec OptimiserSpec::parse(std::string_view text) {
  KeyValues items = KeyValues::after_name("optimiser", text);
  const std::string name = take_name(items, text, {"sgd", "adam", "adamw", "signum"});
  OptimiserSpec spec;
  // PyTorch's default of AdamW.
  constexpr double kOfAdamW = 0.01;
  spec.weight_decay = items.number("weight_decay", name == "adamw" ? kOfAdamW : 0, 0, kMaxRate);
  if (name == "signum") {
    spec.rule = Rule::kSignum;
    spec.learning_rate = items.number("lr", std::nullopt, kMinRate, kMaxRate);
    spec.momentum = items.number("momentum", 0, 0, kMaxBeta);
  } else if (name == "sgd") {
    spec.learning_rate = items.number("lr", std::nullopt, kMinRate, kMaxRate);
    spec.momentum = items.number("momentum", 0, 0, kMaxBeta);
    spec.nesterov = items.choice("nesterov", {"0", "1"}) == 1;
    if (spec.nesterov && spec.momentum == 0)
      items.fail("nesterov=1 without momentum; expected for example momentum=0.9");
  } else {
    spec.learning_rate = items.number("lr", 1e-3, kMinRate, kMaxRate);
    spec.rule = name == "adam" ? Rule::kAdam : Rule::kAdamW;
    spec.beta1 = items.number("beta1", spec.beta1, 0, kMaxBeta);
    spec.beta2 = items.number("beta2", spec.beta2, 0, kMaxBeta);
    spec.epsilon = items.number("epsilon", spec.epsilon, kMinRate, 1);
  }
  items.finish();
  return spec;
}

std::string OptimiserSpec::to_string() const {
  if (rule == Rule::kSgd)
    return fmt::format("sgd:lr={},momentum={},nesterov={},weight_decay={}", learning_rate, momentum,
                       nesterov ? 1 : 0, weight_decay);
  if (rule == Rule::kSignum)
    return fmt::format("signum:lr={},momentum={},weight_decay={}", learning_rate, momentum,
                       weight_decay);
  return fmt::format("{}:beta1={},beta2={},epsilon={},lr={},weight_decay={}",
                     rule == Rule::kAdam ? "adam" : "adamw", beta1, beta2, epsilon, learning_rate,
                     weight_decay);
}

RateSchedule RateSchedule::parse(std::string_view text, std::uint64_t steps) {
  KeyValues items = KeyValues::after_name("schedule", text);
  const std::string name =
      take_name(items, text, {"constant", "step", "decay", "plateau", "cosine"});
  RateSchedule schedule;
  schedule.steps_ = static_cast<double>(std::max<std::uint64_t>(steps, 1));
  const auto in_steps = [&](double length) {
    return length < 1 ? std::round(length * schedule.steps_) : length;
  };
  if (name == "step") {
    schedule.form_ = Form::kStep;
    for (const double moment : take_numbers(items, "at", 0, kMaxScheduleSteps))
      schedule.at_.push_back(in_steps(moment));
    schedule.factor_ = items.number("factor", 0.1, 0, 1);
  } else if (name == "decay") {
    schedule.form_ = Form::kDecay;
    // A fraction below one step is rounded up to one step.
    schedule.every_ =
        std::max(in_steps(items.number("every", std::nullopt, 1e-9, kMaxScheduleSteps)), 1.0);
    schedule.from_ = in_steps(items.number("from", 0, 0, kMaxScheduleSteps));
    schedule.factor_ = items.number("factor", 0.5, 0, 1);
  } else if (name == "plateau") {
    Plateau plateau;
    plateau.after = items.number<std::uint64_t>("after", plateau.after, 1, kMaxEvaluations);
    plateau.factor = items.number("factor", plateau.factor, 0, 1);
    plateau.least = items.number("least", plateau.least, 0, 1);
    schedule.plateau_ = plateau;
  } else if (name == "cosine") {
    schedule.form_ = Form::kCosine;
    schedule.end_ = items.number("end", 0, 0, 1);
  }
  schedule.warmup_ = in_steps(items.number("warmup", 0, 0, kMaxScheduleSteps));
  schedule.start_ = items.number("start", 0, 0, 1);
  items.finish();
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
  // At step 0, the fraction 1 / (warmup + 1) of the warm-up is already done. Otherwise, with a
  // start of 0, step 0 would have a rate of 0 and no effect.
  const double share = (at + 1) / (warmup_ + 1);
  return start_ + share * (without_warmup(warmup_) - start_);
}

}  // namespace thinpipe
