#include "netem/schedule/part.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <set>
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

double take_span(ScheduleItems& items, const std::string& key, double least) {
  const std::string text = items.take(key);
  const double span = items.read(key, text, parse_moment);
  if (span < least)
    items.fail(fmt::format("{}={}: expected at least {}", key, text, moment_text(least)));
  return span;
}

Level read_level(const ScheduleItems& items, const std::string& key, const std::string& text,
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

std::uint64_t read_seed(const std::string& text) {
  if (const auto seed = parse_number<std::uint64_t>(text)) return *seed;
  throw InputError(fmt::format("{} is not a whole number from 0 to 2^64-1", in_quotes(text)));
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
Quantity take_quantity(ScheduleItems& items) {
  const std::string name = items.find("of").value_or("rate");
  for (const Quantity quantity : {Quantity::kRate, Quantity::kDelay, Quantity::kLoss})
    if (name == quantity_name(quantity)) return quantity;
  items.fail(fmt::format("of={}: expected rate, delay or loss", name));
}

}  // namespace

ScheduleItems::ScheduleItems(std::string where, std::string_view part)
    : where_(std::move(where)), part_(part) {
  const std::size_t colon = part_.find(':');
  kind_ = part_.substr(0, colon);
  if (colon == std::string::npos) return;  // a kind without anything: its keys will be missing
  std::set<std::string> seen;
  for (const std::string& item : split(std::string_view(part_).substr(colon + 1), ',')) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == item.size())
      fail(fmt::format("expected key=value, found {}", in_quotes(item)));
    if (!seen.insert(item.substr(0, equals)).second)
      fail(fmt::format("{} is given twice", item.substr(0, equals)));
    items_.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

std::optional<std::string> ScheduleItems::find(const std::string& key) {
  const auto found = std::find_if(items_.begin(), items_.end(),
                                  [&](const auto& item) { return item.first == key; });
  if (found == items_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  items_.erase(found);
  return value;
}

std::string ScheduleItems::take(const std::string& key) {
  std::optional<std::string> value = find(key);
  if (!value) fail(fmt::format("{}= is missing", key));
  return *std::move(value);
}

std::vector<std::pair<std::string, std::string>> ScheduleItems::take_points() {
  const auto is_point = [](const auto& item) {
    return item.first[0] >= '0' && item.first[0] <= '9';
  };
  std::vector<std::pair<std::string, std::string>> points;
  std::copy_if(items_.begin(), items_.end(), std::back_inserter(points), is_point);
  std::erase_if(items_, is_point);
  return points;
}

void ScheduleItems::finish(const std::vector<std::string>& known) const {
  if (items_.empty()) return;
  fail(fmt::format("unknown key {} (known: {}){}", in_quotes(items_[0].first),
                   fmt::join(known, ", "), did_you_mean(items_[0].first, known)));
}

void ScheduleItems::fail(const std::string& what) const {
  throw InputError(fmt::format("{} {}: {}", where_, in_quotes(part_), what));
}

void ScheduleItems::fail_key(const std::string& key, const std::string& text,
                             const std::string& what) const {
  fail(fmt::format("{}={}: {}", key, text, what));
}

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

SchedulePart parse_steps(ScheduleItems& items) {
  const Quantity quantity = take_quantity(items);
  LevelPoints points;
  for (const auto& [key, text] : items.take_points()) {
    const double time =
        items.read(key, text, [&moment = key](const std::string&) { return parse_moment(moment); });
    if (points.empty() ? time != 0 : !(time > points.back().first))
      items.fail(fmt::format(
          "{}={}: expected {}", key, text,
          points.empty() ? "the first moment to be 0s" : "a later moment than the one before"));
    points.emplace_back(time, read_level(items, key, text, quantity));
  }
  if (points.empty()) items.fail("no moments; expected some, such as 0s=100mbit,5s=10mbit");
  double period = kNever;
  if (const auto text = items.find("repeat")) {
    period = items.read("repeat", *text, parse_moment);
    if (period < std::max(points.back().first, kLeastSpan))
      items.fail(fmt::format("repeat={}: expected a time not before the last moment, {}", *text,
                             moment_text(points.back().first)));
  }
  items.finish({"of", "repeat", "and moments such as 5s"});

  const bool linear = items.kind() == "ramp";
  std::string text = items.kind() + ":" + of_text(quantity);
  for (const auto& [time, level] : points)
    text += fmt::format("{}{}={}", time == 0 ? "" : ",", moment_text(time),
                        level_text(quantity, level));
  if (period < kNever) text += ",repeat=" + moment_text(period);
  return {quantity, text, [=](double own) { return level_curve(points, linear, period, own); }};
}

SchedulePart parse_sine(ScheduleItems& items) {
  const Quantity quantity = take_quantity(items);
  const Level low = read_level(items, "low", items.take("low"), quantity);
  const Level high = read_level(items, "high", items.take("high"), quantity);
  if (low.share == high.share && low.value > high.value) items.fail("low= is above high=");
  const double period = take_span(items, "period", kLeastSpan);
  const auto shift_text = items.find("shift");
  const double shift = shift_text ? items.read("shift", *shift_text, parse_moment) : 0;
  items.finish({"of", "low", "high", "period", "shift"});
  return {quantity,
          fmt::format("sine:{}low={},high={},period={}{}", of_text(quantity),
                      level_text(quantity, low), level_text(quantity, high), moment_text(period),
                      shift == 0 ? "" : ",shift=" + moment_text(shift)),
          [=](double own) {
            const double bottom = low.of(own), top = high.of(own);
            return sine_curve((bottom + top) / 2, (top - bottom) / 2, period, shift);
          }};
}

OutageTimes parse_outage(ScheduleItems& items) {
  OutageTimes times;
  times.lasts = take_span(items, "lasts", kLeastSpan);
  const auto every = items.find("every");
  if (every) {
    times.every = items.read("every", *every, parse_moment);
    if (times.every <= times.lasts)
      items.fail(fmt::format("every={}: expected more than lasts={}; the link would never be there",
                             *every, moment_text(times.lasts)));
  }
  const auto first = items.find("first");
  if (!first && !every) items.fail("first= or every= is missing");
  times.first = first ? items.read("first", *first, parse_moment) : times.every - times.lasts;
  items.finish({"first", "every", "lasts"});
  return times;
}

std::string outage_text(const OutageTimes& times) {
  return fmt::format("outage:first={}{},lasts={}", moment_text(times.first),
                     times.every < kNever ? ",every=" + moment_text(times.every) : "",
                     moment_text(times.lasts));
}

SchedulePart parse_walk(ScheduleItems& items) {
  Walk walk;
  const Quantity quantity = take_quantity(items);
  walk.low = read_level(items, "low", items.take("low"), quantity);
  walk.high = read_level(items, "high", items.take("high"), quantity);
  if (walk.low.share == walk.high.share && walk.low.value > walk.high.value)
    items.fail("low= is above high=");
  if (const auto text = items.find("every")) walk.every = items.read("every", *text, parse_moment);
  if (const auto text = items.find("lasts")) walk.lasts = items.read("lasts", *text, parse_moment);
  if (const auto text = items.find("step"))
    walk.step = items.read("step", *text, [](const std::string& share) {
      return parse_level(Quantity::kLoss, share).value;  // a plain share
    });
  if (const auto text = items.find("seed")) walk.seed = items.read("seed", *text, read_seed);
  items.finish({"of", "low", "high", "every", "lasts", "step", "seed"});
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
