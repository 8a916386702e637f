#include "netem/schedule/part.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/splitmix64.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/link/link_spec.h"

namespace thinpipe {
namespace {

constexpr double kMostShare = 10;
constexpr double kLongestTime = 1e6;  // s: eleven days

double parse_percent(const std::string& text, double most) {
  if (const auto percent = parse_number_with<double>("%", text, 0, 100 * most))
    return *percent / 100;
  throw InputError(fmt::format("{} is not a share from 0% to {}%", in_quotes(text), 100 * most));
}

// The largest of the units in which the value is not below 1, as short as reads back the same.
std::string with_unit(double value, std::initializer_list<std::pair<double, const char*>> units) {
  for (const auto& [factor, name] : units)
    if (value >= factor && value / factor * factor == value)
      return fmt::format("{}{}", value / factor, name);
  return fmt::format("{}{}", value, std::prev(units.end())->second);
}

Level read_level(const KeyValues& items, const std::string& key, const std::string& text,
                 Quantity quantity) {
  return items.read(key, text, [&](const std::string& t) { return parse_level(quantity, t); });
}

constexpr double kLeastSpan = 1e-3;  // s; a link cannot follow faster changes

// A random walk between two levels, the same for a seed on every machine.

constexpr double kMostSteps = 1e6;

// Mean 0, deviation 1: twelve uniform numbers less 6 (their sum has variance 1). Additions only, so
// no machine's logarithm or cosine shows; what a normal distribution has beyond 6 is not missed.
double nearly_normal(SplitMix64& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
  return sum;
}

// Back into [0, 1], as light between two mirrors.
double reflected(double x) {
  x = std::fabs(std::fmod(x, 2));
  return x > 1 ? 2 - x : x;
}

struct Walk {
  Level low, high;
  double every = 0.1, lasts = 600;
  double step = 0.1;  // standard deviation of a step, as a share of high - low
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

// As parse_level() reads it.
std::string level_text(Quantity quantity, const Level& level) {
  if (level.share || quantity == Quantity::kLoss)
    return fmt::format("{}%", std::round(level.value * 1e11) / 1e9);  // 0.07 * 100 is not 7
  if (level.value == 0) return "0";
  if (quantity == Quantity::kDelay) return moment_text(level.value);
  return with_unit(level.value, {{1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}, {1, "bit"}});
}

// The key `of`: rate unless it says otherwise.
Quantity take_quantity(KeyValues& items) {
  return static_cast<Quantity>(items.choice("of", {"rate", "delay", "loss"}));
}

}  // namespace

std::string quantity_name(Quantity quantity) {
  return quantity == Quantity::kRate ? "rate" : quantity == Quantity::kDelay ? "delay" : "loss";
}

Level parse_level(Quantity quantity, const std::string& text) {
  if (quantity == Quantity::kLoss) return {parse_percent(text, 1), false};
  if (text.ends_with('%')) return {parse_percent(text, kMostShare), true};
  if (quantity == Quantity::kRate) {
    const double rate = parse_rate(text);
    if (rate != 0 && !(rate >= kLowestLinkRate && rate <= kHighestLinkRate))
      throw InputError(
          fmt::format("{} is not a rate from 1kbit to 100gbit, nor 0", in_quotes(text)));
    return {rate, false};
  }
  const double delay = text == "0" ? 0 : parse_time(text);
  if (delay > kLongestLinkDelay)
    throw InputError(fmt::format("{} is a delay above 100s", in_quotes(text)));
  return {delay, false};
}

double parse_moment(const std::string& text) {
  const double seconds = text == "0" ? 0 : parse_time(text);
  if (seconds > kLongestTime)
    throw InputError(fmt::format("{} is longer than {:.0f} s", in_quotes(text), kLongestTime));
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
  // Shortest text that reads back: 0.05 is 50ms, and 50 * 1e-3 must be 0.05 again.
  for (const auto& [factor, name] : {std::pair{1.0, "s"}, std::pair{1e-3, "ms"}}) {
    const double value = std::round(seconds / factor * 1e6) / 1e6;
    if (value >= 1 && value * factor == seconds) return fmt::format("{}{}", value, name);
  }
  return fmt::format("{}s", seconds);
}

std::string of_text(Quantity quantity) {
  return quantity == Quantity::kRate ? "" : "of=" + quantity_name(quantity) + ",";
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
                                      : "expected a later moment than the one before");
    points.emplace_back(time, read_level(items, key, text, quantity));
  }
  if (points.empty()) items.fail("no moments; expected some, such as 0s=100mbit,5s=10mbit");
  const double period =
      take_span(items, "repeat", std::max(points.back().first, kLeastSpan), kNever);
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
  const Level low = read_level(items, "low", items.take("low"), quantity);
  const Level high = read_level(items, "high", items.take("high"), quantity);
  if (low.share == high.share && low.value > high.value) items.fail("low= is above high=");
  const double period = take_span(items, "period", kLeastSpan);
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
  times.lasts = take_span(items, "lasts", kLeastSpan);
  times.every = take_span(items, "every", 0, kNever);
  if (times.every <= times.lasts)
    items.fail(fmt::format("every={}: expected more than lasts={}; the link would never be there",
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
  walk.low = read_level(items, "low", items.take("low"), quantity);
  walk.high = read_level(items, "high", items.take("high"), quantity);
  if (walk.low.share == walk.high.share && walk.low.value > walk.high.value)
    items.fail("low= is above high=");
  walk.every = take_span(items, "every", 0, walk.every);
  walk.lasts = take_span(items, "lasts", 0, walk.lasts);
  if (const auto text = items.find("step"))
    walk.step = items.read("step", *text, [](const std::string& share) {
      return parse_level(Quantity::kLoss, share).value;  // a plain share
    });
  walk.seed = items.number<std::uint64_t>("seed", walk.seed, 0, UINT64_MAX);
  items.finish();
  if (walk.every < kLeastSpan || walk.lasts < walk.every || walk.lasts / walk.every > kMostSteps)
    items.fail(fmt::format("every={},lasts={}: expected at least 1ms, and 1 to {} steps",
                           moment_text(walk.every), moment_text(walk.lasts), kMostSteps));
  return {quantity,
          fmt::format("walk:{}low={},high={},step={},every={},lasts={},seed={}", of_text(quantity),
                      level_text(quantity, walk.low), level_text(quantity, walk.high),
                      level_text(Quantity::kLoss, {walk.step, false}), moment_text(walk.every),
                      moment_text(walk.lasts), walk.seed),
          [=](double own) { return curve_of(walk, own); }};
}

}  // namespace thinpipe
