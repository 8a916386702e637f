#include "workloads/capture/optimiser_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "compressors/spec.h"

namespace thinpipe {

namespace {

// Beyond it every update overflows; below, none shows.
constexpr double kMostRate = 1e30;
constexpr double kLeastRate = 1e-30;
constexpr double kMostBeta = 0.9999999;
constexpr double kMostSteps = 1e9;

/// Reads what `sgd:lr=0.1,nesterov=1` holds; keys that are absent keep their defaults.
class SpecValues {
 public:
  /// @param what  "optimiser" or the like, for messages
  /// @throws InputError when the text is no spec
  SpecValues(std::string_view text, std::string what);

  const std::string& name() const { return spec_.name; }
  bool has(const std::string& key) const { return spec_.values.contains(key); }

  /// @throws InputError unless a number within the bounds
  double number(const std::string& key, double otherwise, double least, double most) const;
  /// 0 or 1
  bool flag(const std::string& key, bool otherwise) const;
  /// "0.5/0.75"
  std::vector<double> numbers(const std::string& key, double least, double most) const;

  /// @throws InputError for another name, with the nearest one
  void expect_name(const std::vector<std::string>& names) const;
  /// @throws InputError for keys other than these, with the nearest one
  void expect_keys(const std::vector<std::string>& keys) const;

 private:
  double parse(const std::string& key, std::string_view value, double least, double most) const;
  [[noreturn]] void fail(const std::string& problem) const;

  std::string what_;
  Spec spec_;
};

SpecValues::SpecValues(std::string_view text, std::string what) : what_(std::move(what)) {
  try {
    spec_ = parse_spec(text);
  } catch (const InputError& error) {
    throw InputError(what_ + ": " + error.what());
  }
}

void SpecValues::fail(const std::string& problem) const {
  throw InputError(fmt::format("{} {}: {}", what_, in_quotes(spec_.to_string()), problem));
}

double SpecValues::parse(const std::string& key, std::string_view value, double least,
                         double most) const {
  const auto number = parse_number<double>(value, least, most);
  if (!number) {
    fail(fmt::format("{}: found {}, expected a number from {:g} to {:g}", key, in_quotes(value),
                     least, most));
  }
  return *number;
}

double SpecValues::number(const std::string& key, double otherwise, double least,
                          double most) const {
  const auto found = spec_.values.find(key);
  return found == spec_.values.end() ? otherwise : parse(key, found->second, least, most);
}

bool SpecValues::flag(const std::string& key, bool otherwise) const {
  const auto found = spec_.values.find(key);
  if (found == spec_.values.end()) return otherwise;
  if (found->second != "0" && found->second != "1") {
    fail(fmt::format("{}: found {}, expected 0 or 1", key, in_quotes(found->second)));
  }
  return found->second == "1";
}

std::vector<double> SpecValues::numbers(const std::string& key, double least, double most) const {
  std::vector<double> numbers;
  const auto found = spec_.values.find(key);
  if (found == spec_.values.end()) return numbers;
  for (const std::string& part : split(found->second, '/')) {
    numbers.push_back(parse(key, part, least, most));
  }
  return numbers;
}

void SpecValues::expect_name(const std::vector<std::string>& names) const {
  if (std::find(names.begin(), names.end(), spec_.name) != names.end()) return;
  fail(
      fmt::format("expected one of {}{}", fmt::join(names, ", "), did_you_mean(spec_.name, names)));
}

void SpecValues::expect_keys(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : spec_.values) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    fail(fmt::format("{} is not known; expected {}{}", in_quotes(key),
                     keys.empty() ? "no keys" : fmt::format("{}", fmt::join(keys, ", ")),
                     did_you_mean(key, keys)));
  }
}

}  // namespace

OptimiserSpec OptimiserSpec::parse(std::string_view text) {
  const SpecValues values(text, "optimiser");
  values.expect_name({"sgd", "adam", "adamw"});
  OptimiserSpec spec;
  spec.weight_decay = values.number("weight_decay", 0, 0, kMostRate);
  if (values.name() == "sgd") {
    values.expect_keys({"lr", "momentum", "nesterov", "weight_decay"});
    if (!values.has("lr")) {
      throw InputError("optimiser 'sgd': lr is missing; expected sgd:lr=RATE");
    }
    spec.momentum = values.number("momentum", 0, 0, kMostBeta);
    spec.nesterov = values.flag("nesterov", false);
    if (spec.nesterov && spec.momentum == 0) {
      throw InputError("optimiser 'sgd': nesterov=1 without momentum; expected momentum=0.9 or so");
    }
  } else {
    values.expect_keys({"lr", "beta1", "beta2", "epsilon", "weight_decay"});
    spec.rule = values.name() == "adam" ? Rule::kAdam : Rule::kAdamW;
    spec.beta1 = values.number("beta1", spec.beta1, 0, kMostBeta);
    spec.beta2 = values.number("beta2", spec.beta2, 0, kMostBeta);
    spec.epsilon = values.number("epsilon", spec.epsilon, kLeastRate, 1);
  }
  spec.learning_rate = values.number("lr", 1e-3, kLeastRate, kMostRate);
  return spec;
}

std::string OptimiserSpec::to_string() const {
  if (rule == Rule::kSgd) {
    return fmt::format("sgd:lr={},momentum={},nesterov={},weight_decay={}", learning_rate, momentum,
                       nesterov ? 1 : 0, weight_decay);
  }
  return fmt::format("{}:beta1={},beta2={},epsilon={},lr={},weight_decay={}",
                     rule == Rule::kAdam ? "adam" : "adamw", beta1, beta2, epsilon, learning_rate,
                     weight_decay);
}

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
