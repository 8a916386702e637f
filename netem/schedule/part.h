// One part of a schedule: what happens to one quantity of a link. Its values as users write them,
// and the kinds of parts that need no file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/key_values.h"
#include "netem/schedule/curve.h"

namespace thinpipe {

/// A link's quantities that a schedule can change.
enum class Quantity { kRate, kDelay, kLoss };
std::string quantity_name(Quantity quantity);  ///< "rate", "delay", "loss"

/// `100mbit`, or `50%` of the link's own rate.
struct Level {
  double value = 0;    ///< bit/s, s, or a share of frames from 0 to 1
  bool share = false;  ///< `value` is a factor of the link's own
  double of(double own) const { return share ? value * own : value; }
};

/// Rates: `100mbit` (0, or 1 kbit/s to 100 Gbit/s) or `50%` of the link's, up to 1000 %; delays:
/// `10ms` (up to 100 s) or likewise; losses: `1%` of all frames.
/// @throws InputError saying what was found and what is expected.
Level parse_level(Quantity quantity, const std::string& text);

/// `5s`, `50ms`, `0`; seconds from 0 to 10^6. @throws InputError likewise.
double parse_moment(const std::string& text);
std::string moment_text(double seconds);

/// The moment that a key has, at least `least`; `otherwise` where it is not given, an error without
/// `otherwise`.
double take_span(KeyValues& items, const std::string& key, double least,
                 std::optional<double> otherwise = std::nullopt);

struct SchedulePart {
  Quantity quantity = Quantity::kRate;
  std::string text;  ///< canonical: reads back to the same part
  /// On a link whose own value of the quantity is `own`.
  std::function<CurvePtr(double own)> curve;
};

/// Moments and levels, as steps or ramps have them.
using LevelPoints = std::vector<std::pair<double, Level>>;
/// A table of levels on a link with this value of its own.
CurvePtr level_curve(const LevelPoints& points, bool linear, double period, double own);

/// The key `of` as it stands in canonical text: nothing for rate.
std::string of_text(Quantity quantity);

// The kinds that need no file; their grammar is in docs/schedules.md. @throws InputError
SchedulePart parse_table(KeyValues& items, bool ramp);  ///< `steps` and `ramp`
SchedulePart parse_sine(KeyValues& items);
SchedulePart parse_walk(KeyValues& items);
OutageTimes parse_outage(KeyValues& items);
std::string outage_text(const OutageTimes& times);

}  // namespace thinpipe
