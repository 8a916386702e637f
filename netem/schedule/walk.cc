// A random walk between two levels, the same for a seed on every machine.
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/splitmix64.h"
#include "base/text.h"
#include "netem/schedule/part.h"

namespace thinpipe {

namespace {

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

}  // namespace

SchedulePart parse_walk(ScheduleItems& items) {
  Walk walk;
  const Quantity quantity = take_quantity(items);
  const auto level = [&](const std::string& key) {
    return items.read(key, items.take(key),
                      [&](const std::string& text) { return parse_level(quantity, text); });
  };
  walk.low = level("low");
  walk.high = level("high");
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
  if (walk.every < 1e-3 || walk.lasts < walk.every || walk.lasts / walk.every > kMostSteps)
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
