#include "netem/schedule/part.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace thinpipe {

namespace {

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

}  // namespace

Quantity take_quantity(ScheduleItems& items) {
  const std::string name = items.find("of").value_or("rate");
  for (const Quantity quantity : {Quantity::kRate, Quantity::kDelay, Quantity::kLoss})
    if (name == quantity_name(quantity)) return quantity;
  items.fail(fmt::format("of={}: expected rate, delay or loss", name));
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

}  // namespace thinpipe
