#include "netem/schedule/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <tuple>

#include "base/error.h"
#include "base/splitmix64.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/link/link_keys.h"

namespace thinpipe {
namespace {

class TableCurve : public ScheduleCurve {
 public:
  TableCurve(std::vector<CurvePoint> points, bool linear, double period)
      : points_(std::move(points)), linear_(linear), period_(period) {
    double sum = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      before_.push_back(sum);
      if (i + 1 < points_.size()) sum += area(i, points_[i + 1].time);
    }
    if (repeats()) whole_ = integral_within(period_);
  }

  double at(double t) const override { return value(segment(phase(t)), phase(t)); }

  double integral(double from, double to) const override { return until(to) - until(from); }

  double next_corner(double t) const override {
    if (!repeats()) {
      const auto next = after(t);
      return next == points_.end() ? kNever : next->time;
    }
    // If the period is short compared with `t`, rounding may place the next corner at `t` itself.
    // The loop then continues to the corner after it.
    double begin = t - phase(t);
    for (auto next = after(phase(t));; begin += period_, next = points_.begin())
      for (; next != points_.end(); ++next)
        if (begin + next->time > t) return begin + next->time;
  }

  bool steady_after(double t) const override {
    const std::size_t i = segment(phase(t));
    return !linear_ || i + 1 == points_.size() || points_[i].value == points_[i + 1].value;
  }

  double least() const override {
    double least = most();
    for (const CurvePoint& point : points_)
      if (point.value > 0) least = std::min(least, point.value);
    return least;
  }
  double most() const override {
    return std::max_element(points_.begin(), points_.end(), by)->value;
  }

 private:
  static bool by(const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; }
  bool repeats() const { return period_ < kNever; }
  double phase(double t) const { return repeats() ? std::fmod(t, period_) : t; }

  std::vector<CurvePoint>::const_iterator after(double t) const {
    return std::upper_bound(points_.begin(), points_.end(), t,
                            [](double time, const CurvePoint& point) { return time < point.time; });
  }

  std::size_t segment(double t) const {
    const auto next = after(t);
    return next == points_.begin() ? 0 : static_cast<std::size_t>(next - points_.begin()) - 1;
  }

  double value(std::size_t i, double t) const {
    if (!linear_ || i + 1 == points_.size()) return points_[i].value;
    const CurvePoint &a = points_[i], &b = points_[i + 1];
    return a.value + (b.value - a.value) * (t - a.time) / (b.time - a.time);
  }

  // Returns the integral over segment i up to t.
  double area(std::size_t i, double t) const {
    return (points_[i].value + value(i, t)) / 2 * (t - points_[i].time);
  }

  double integral_within(double t) const {
    const std::size_t i = segment(t);
    return before_[i] + area(i, t);
  }

  double until(double t) const {
    if (!repeats()) return integral_within(t);
    return std::round((t - phase(t)) / period_) * whole_ + integral_within(phase(t));
  }

  std::vector<CurvePoint> points_;
  std::vector<double> before_;  ///< integral up to each point
  bool linear_;
  double period_;
  double whole_ = 0;  ///< integral of a period
};

class SineCurve : public ScheduleCurve {
 public:
  SineCurve(double middle, double swing, double period, double shift)
      : middle_(middle), swing_(swing), pace_(2 * std::numbers::pi / period), shift_(shift) {}

  double at(double t) const override { return middle_ + swing_ * std::sin(angle(t)); }
  double integral(double from, double to) const override {
    return middle_ * (to - from) + swing_ / pace_ * (std::cos(angle(from)) - std::cos(angle(to)));
  }
  double next_corner(double) const override { return kNever; }
  bool steady_after(double) const override { return swing_ == 0; }
  double least() const override { return middle_ - std::fabs(swing_); }
  double most() const override { return middle_ + std::fabs(swing_); }

 private:
  double angle(double t) const { return pace_ * (t + shift_); }
  double middle_, swing_, pace_, shift_;
};

class OutageCurve : public ScheduleCurve {
 public:
  OutageCurve(CurvePtr inner, const OutageTimes& times) : inner_(std::move(inner)), times_(times) {}

  double at(double t) const override { return is_out(t) ? 0 : inner_->at(t); }

  double integral(double from, double to) const override {
    double sum = 0;
    while (from < to) {
      const double end = std::min(to, next_edge(from));
      if (!is_out(from)) sum += inner_->integral(from, end);
      from = end;
    }
    return sum;
  }

  double next_corner(double t) const override {
    // During an outage the inner curve has no effect.
    return is_out(t) ? next_edge(t) : std::min(next_edge(t), inner_->next_corner(t));
  }

  bool steady_after(double t) const override { return is_out(t) || inner_->steady_after(t); }
  double least() const override { return inner_->least(); }
  double most() const override { return std::max(0.0, inner_->most()); }

 private:
  // Returns the number of the latest outage that has begun; negative before the first.
  double number(double t) const {
    if (t < times_.first) return -1;
    if (times_.every == kNever) return 0;
    double n = std::floor((t - times_.first) / times_.every);
    // Division rounds, so the result is corrected by begin().
    while (begin(n + 1) <= t) ++n;
    while (begin(n) > t) --n;
    return n;
  }
  double begin(double n) const {
    if (n <= 0 || times_.every == kNever) return n <= 0 ? times_.first : kNever;
    return times_.first + n * times_.every;
  }
  bool is_out(double t) const {
    const double n = number(t);
    return n >= 0 && t < begin(n) + times_.lasts;
  }
  double next_edge(double t) const {
    const double n = number(t);
    if (n >= 0 && t < begin(n) + times_.lasts) return begin(n) + times_.lasts;
    return begin(n + 1);
  }

  CurvePtr inner_;
  OutageTimes times_;
};

constexpr double kMaxShare = 10;
constexpr double kLongestTime = 1e6;  // s: eleven days

double parse_percent(const std::string& text, double most) {
  if (const auto percent = parse_number_with<double>("%", text, 0, 100 * most))
    return *percent / 100;
  throw InputError(
      fmt::format("{} is not a percentage from 0% to {}%", in_quotes(text), 100 * most));
}

Level read_level(const KeyValues& items, const std::string& key, const std::string& text,
                 Quantity quantity) {
  return items.read(key, text, [&](const std::string& t) { return parse_level(quantity, t); });
}

std::pair<Level, Level> take_band(KeyValues& items, Quantity quantity) {
  const Level low = read_level(items, "low", items.take("low"), quantity);
  const Level high = read_level(items, "high", items.take("high"), quantity);
  if (low.share == high.share && low.value > high.value) items.fail("low= is above high=");
  return {low, high};
}

constexpr double kMinSpan = 1e-3;  // s; a link cannot follow faster changes

// A random walk between two levels, which depends only on the seed, not on the machine.

constexpr double kMaxSteps = 1e6;

// Returns a nearly normal random number of mean 0 and standard deviation 1: the sum of twelve
// uniform numbers minus 6 (the sum has variance 1). It uses only additions, so the result does not
// depend on a machine's logarithm or cosine. The missing tails of the normal distribution beyond 6
// do not matter here.
double nearly_normal(SplitMix64& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
  return sum;
}

// Reflects a value at 0 and 1 into [0, 1].
double reflected(double x) {
  x = std::fabs(std::fmod(x, 2));
  return x > 1 ? 2 - x : x;
}

struct Walk {
  Level low, high;
  double every = 0.1, lasts = 600;
  double step = 0.1;  // standard deviation of a step, as a fraction of high - low
  std::uint64_t seed = 1;
};

CurvePtr curve_of(const Walk& walk, double own) {
  SplitMix64 random(walk.seed);
  const double low = walk.low.of(own), high = walk.high.of(own);
  std::vector<CurvePoint> points;
  double place = 0.5;
  for (double i = 0; i * walk.every < walk.lasts; ++i) {
    points.push_back({i * walk.every, low + place * (high - low)});
    place = reflected(place + walk.step * nearly_normal(random));
  }
  return table_curve(std::move(points), false, walk.lasts);
}

// Returns a level as text for parse_level().
std::string level_text(Quantity quantity, const Level& level) {
  if (level.share || quantity == Quantity::kLoss)
    return fmt::format("{}%", std::round(level.value * 1e11) / 1e9);  // 0.07 * 100 is not 7
  if (level.value == 0) return "0";
  if (quantity == Quantity::kDelay) return moment_text(level.value);
  return link_rate_text(level.value);
}

// Takes the key `of`; rate by default.
Quantity take_quantity(KeyValues& items) {
  return static_cast<Quantity>(items.choice("of", {"rate", "delay", "loss"}));
}

// Returns the key `of` in canonical text; "" for rate.
std::string of_text(Quantity quantity) {
  return quantity == Quantity::kRate ? "" : "of=" + quantity_name(quantity) + ",";
}

}  // namespace

CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period) {
  return std::make_shared<TableCurve>(std::move(points), linear, period);
}

CurvePtr sine_curve(double middle, double swing, double period, double shift) {
  return std::make_shared<SineCurve>(middle, swing, period, shift);
}

CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times) {
  return std::make_shared<OutageCurve>(std::move(inner), times);
}

std::string quantity_name(Quantity quantity) {
  return quantity == Quantity::kRate ? "rate" : quantity == Quantity::kDelay ? "delay" : "loss";
}

Level parse_level(Quantity quantity, const std::string& text) {
  if (quantity == Quantity::kLoss) return {parse_percent(text, 1), false};
  if (text.ends_with('%')) return {parse_percent(text, kMaxShare), true};
  if (quantity == Quantity::kRate) {
    const double rate = parse_rate(text);
    if (rate != 0 && !(rate >= kLowestLinkRate && rate <= kHighestLinkRate))
      throw InputError(
          fmt::format("{} is neither 0 nor a rate from 1kbit to 100gbit", in_quotes(text)));
    return {rate, false};
  }
  const double delay = text == "0" ? 0 : parse_time(text);
  if (delay > kLongestLinkDelay)
    throw InputError(fmt::format("{} is above 100s, the limit of a delay", in_quotes(text)));
  return {delay, false};
}

double parse_moment(const std::string& text) {
  const double seconds = text == "0" ? 0 : parse_time(text);
  if (seconds > kLongestTime)
    throw InputError(
        fmt::format("{} is above {:.0f} s, the limit of a time", in_quotes(text), kLongestTime));
  return seconds;
}

double take_span(KeyValues& items, const std::string& key, double least,
                 std::optional<double> otherwise) {
  const std::optional<std::string> text = items.find(key);
  if (!text && otherwise) return *otherwise;
  const std::string value = text ? *text : items.take(key);
  const double span = items.read(key, value, parse_moment);
  if (span < least) items.fail_value(key, value, "expected at least " + moment_text(least));
  return span;
}

std::string moment_text(double seconds) {
  if (seconds == 0) return "0s";
  // Shortest text that restores the value: 0.05 is 50ms, if 50 * 1e-3 is 0.05 again.
  for (const auto& [factor, name] : {std::pair{1.0, "s"}, std::pair{1e-3, "ms"}}) {
    const double value = std::round(seconds / factor * 1e6) / 1e6;
    if (value >= 1 && value * factor == seconds) return fmt::format("{}{}", value, name);
  }
  return fmt::format("{}s", seconds);
}

CurvePtr level_curve(const LevelPoints& points, bool linear, double period, double own) {
  std::vector<CurvePoint> values;
  for (const auto& [time, level] : points) values.push_back({time, level.of(own)});
  return table_curve(std::move(values), linear, period);
}

SchedulePart parse_table(KeyValues& items, bool ramp) {
  const Quantity quantity = take_quantity(items);
  LevelPoints points;
  for (const auto& [key, text] : items.take_if(
           [](const std::string& moment) { return moment[0] >= '0' && moment[0] <= '9'; })) {
    const double time =
        items.read(key, text, [&moment = key](const std::string&) { return parse_moment(moment); });
    if (points.empty() ? time != 0 : !(time > points.back().first))
      items.fail_value(key, text,
                       points.empty() ? "expected the first moment to be 0s"
                                      : "expected a later moment than the previous one");
    points.emplace_back(time, read_level(items, key, text, quantity));
  }
  if (points.empty()) items.fail("no moments; expected moments such as 0s=100mbit,5s=10mbit");
  const double period = take_span(items, "repeat", std::max(points.back().first, kMinSpan), kNever);
  items.finish("moments such as 5s");

  std::string text = (ramp ? "ramp:" : "steps:") + of_text(quantity);
  for (const auto& [time, level] : points)
    text += fmt::format("{}{}={}", time == 0 ? "" : ",", moment_text(time),
                        level_text(quantity, level));
  if (period < kNever) text += ",repeat=" + moment_text(period);
  return {quantity, text, [=](double own) { return level_curve(points, ramp, period, own); }};
}

SchedulePart parse_sine(KeyValues& items) {
  const Quantity quantity = take_quantity(items);
  Level low, high;
  std::tie(low, high) = take_band(items, quantity);
  const double period = take_span(items, "period", kMinSpan);
  const double shift = take_span(items, "shift", 0, 0);
  items.finish();
  return {quantity,
          fmt::format("sine:{}low={},high={},period={}{}", of_text(quantity),
                      level_text(quantity, low), level_text(quantity, high), moment_text(period),
                      shift == 0 ? "" : ",shift=" + moment_text(shift)),
          [=](double own) {
            const double bottom = low.of(own), top = high.of(own);
            return sine_curve((bottom + top) / 2, (top - bottom) / 2, period, shift);
          }};
}

OutageTimes parse_outage(KeyValues& items) {
  OutageTimes times;
  times.lasts = take_span(items, "lasts", kMinSpan);
  times.every = take_span(items, "every", 0, kNever);
  if (times.every <= times.lasts)
    items.fail(fmt::format("every={}: expected more than lasts={}; the link would never work",
                           moment_text(times.every), moment_text(times.lasts)));
  if (!items.given("first") && !items.given("every")) items.fail("first= or every= is missing");
  times.first = take_span(items, "first", 0, times.every - times.lasts);
  items.finish();
  return times;
}

std::string outage_text(const OutageTimes& times) {
  return fmt::format("outage:first={}{},lasts={}", moment_text(times.first),
                     times.every < kNever ? ",every=" + moment_text(times.every) : "",
                     moment_text(times.lasts));
}

SchedulePart parse_walk(KeyValues& items) {
  Walk walk;
  const Quantity quantity = take_quantity(items);
  std::tie(walk.low, walk.high) = take_band(items, quantity);
  walk.every = take_span(items, "every", 0, walk.every);
  walk.lasts = take_span(items, "lasts", 0, walk.lasts);
  if (const auto text = items.find("step"))
    walk.step = items.read("step", *text, [](const std::string& share) {
      return parse_level(Quantity::kLoss, share).value;  // a plain percentage
    });
  walk.seed = items.number<std::uint64_t>("seed", walk.seed, 0, UINT64_MAX);
  items.finish();
  if (walk.every < kMinSpan || walk.lasts < walk.every || walk.lasts / walk.every > kMaxSteps)
    items.fail(fmt::format("every={},lasts={}: expected at least 1ms, and 1 to {} steps",
                           moment_text(walk.every), moment_text(walk.lasts), kMaxSteps));
  return {quantity,
          fmt::format("walk:{}low={},high={},step={},every={},lasts={},seed={}", of_text(quantity),
                      level_text(quantity, walk.low), level_text(quantity, walk.high),
                      level_text(Quantity::kLoss, {walk.step, false}), moment_text(walk.every),
                      moment_text(walk.lasts), walk.seed),
          [=](double own) { return curve_of(walk, own); }};
}

}  // namespace thinpipe
