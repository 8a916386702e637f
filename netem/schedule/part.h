// One part of a schedule, which changes one quantity of a link: the values as users write them, and
// the kinds of parts that need no file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/key_values.h"
#include "netem/schedule/curve.h"

namespace thinpipe {

/// The quantities of a link that a schedule can change.
enum class Quantity { kRate, kDelay, kLoss };
std::string quantity_name(Quantity quantity);  ///< "rate", "delay", "loss"

/// A value of a quantity: `100mbit`, or `50%` of the link's own rate.
struct Level {
  double value = 0;    ///< bit/s, s, or a fraction of frames from 0 to 1
  bool share = false;  ///< `value` is a factor of the link's own value
  double of(double own) const { return share ? value * own : value; }
};

/// Parses a level, which is a value of a quantity. A rate is `100mbit` (0, or 1 kbit/s to 100
/// Gbit/s) or `50%` of the link's own rate, up to 1000 %. A delay is `10ms` (up to 100 s) or
/// likewise a percentage of the link's own delay. A loss is `1%` of all frames. @throws InputError
/// saying what was found and what is expected.
Level parse_level(Quantity quantity, const std::string& text);

/// Parses a time from 0 to 10^6 s: `5s`, `50ms`, `0`. @throws InputError likewise.
double parse_moment(const std::string& text);
std::string moment_text(double seconds);

/// Returns the value of a key as a time, which must be at least `least`. If the key is missing,
/// returns `otherwise`, or throws if `otherwise` is not given.
double take_span(KeyValues& items, const std::string& key, double least,
                 std::optional<double> otherwise = std::nullopt);

struct SchedulePart {
  Quantity quantity = Quantity::kRate;
  std::string text;  ///< canonical; parses to the same part
  /// Returns the curve for a link whose own value of the quantity is `own`.
  std::function<CurvePtr(double own)> curve;
};

/// Times and levels of steps or ramps.
using LevelPoints = std::vector<std::pair<double, Level>>;
/// Returns the curve of a table of levels for a link whose own value is `own`.
CurvePtr level_curve(const LevelPoints& points, bool linear, double period, double own);

/// Returns the key `of` in canonical text; "" for rate.
std::string of_text(Quantity quantity);

// Parsers of the kinds that need no file. docs/schedules.md has their grammar. @throws InputError
SchedulePart parse_table(KeyValues& items, bool ramp);  ///< `steps` and `ramp`
SchedulePart parse_sine(KeyValues& items);
SchedulePart parse_walk(KeyValues& items);
OutageTimes parse_outage(KeyValues& items);
std::string outage_text(const OutageTimes& times);

}  // namespace thinpipe
