// One part of a schedule, which changes one quantity of a link: curves of the quantity over time,
// the values as users write them, and the kinds of parts. Files are packet-delivery traces of
// mahimahi, and CSV tables.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key_values.h"

namespace thinpipe {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// One quantity of a link over time: a function of the time since the schedule's start, in s, with
/// a closed form for its value at a moment and for its integral between two moments. The caller
/// defines the unit of the values. Immutable and thread-safe.
class ScheduleCurve {
 public:
  virtual ~ScheduleCurve() = default;
  /// Returns the value at `t` >= 0; at a jump, the value after it.
  virtual double at(double t) const = 0;
  /// Returns the integral over [from, to], 0 <= from <= to, exact except for rounding.
  virtual double integral(double from, double to) const = 0;
  /// Returns the first moment after `t` at which the value or the slope jumps; kNever if none does.
  virtual double next_corner(double t) const = 0;
  /// Returns true if the value is constant from `t` to the next corner.
  virtual bool steady_after(double t) const = 0;
  /// Returns the smallest value above 0 that lasts for a while or is a turning point; 0 if there is
  /// none. The values themselves may be smaller on their way to 0.
  virtual double least() const = 0;
  virtual double most() const = 0;  ///< upper bound of the values
};
using CurvePtr = std::shared_ptr<const ScheduleCurve>;

struct CurvePoint {
  double time = 0;
  double value = 0;
};

/// Returns a curve through points in ascending order, the first at time 0: a step function, or
/// straight lines between the points (`linear`). The last value stays for ever, or until `period`,
/// after which the curve repeats. The period must not end before the last point.
CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period = kNever);

/// Returns middle + swing sin(2 pi (t + shift) / period).
CurvePtr sine_curve(double middle, double swing, double period, double shift);

/// Intervals of `lasts` s that begin at `first` and repeat every `every` s (kNever: once).
struct OutageTimes {
  double first = 0, every = kNever, lasts = 0;
};

/// Returns `inner` with 0 during outages. `inner` continues during an outage.
CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times);

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

// Parsers of the kinds that need no file. docs/schedules.md has their grammar. @throws InputError
SchedulePart parse_table(KeyValues& items, bool ramp);  ///< `steps` and `ramp`
SchedulePart parse_sine(KeyValues& items);
SchedulePart parse_walk(KeyValues& items);
OutageTimes parse_outage(KeyValues& items);
std::string outage_text(const OutageTimes& times);

/// The content of a schedule file.
struct ScheduleFile {
  std::string text;
  std::string digest;  ///< FNV-1a of the text, 16 hex digits; not cryptographic
};
/// @throws InputError naming the file when it cannot be read, is empty or larger than 256 MB.
ScheduleFile read_schedule_file(const std::filesystem::path& path);

/// Parses a mahimahi trace (Netravali et al., USENIX ATC 2015). Every line is the millisecond of a
/// delivery opportunity for one packet of up to 1500 bytes. A millisecond may occur more than once.
/// The trace repeats after the last line. One packet counts as a full Ethernet frame: 1514 bytes
/// with the header.
/// @param bin  s over which the rate is averaged; the rate is 0 in a bin without deliveries
/// @throws InputError naming `name` and the line.
CurvePtr parse_mahimahi(std::string_view text, const std::string& name, double bin);

/// Parses a table with the columns `time` and any of `rate`, `delay`, `loss`. The header may have a
/// column's unit (`time_s`, `time_ms`, `rate_bit`, `rate_kbit`, `rate_mbit`, `rate_gbit`,
/// `delay_s`, `delay_ms`, `delay_us`, `loss_percent`). Then cells are plain numbers. Otherwise each
/// cell has a unit (`5s`, `10mbit`, `50%`).
/// @param linear  straight lines between the rows rather than steps
/// @param period  s after which the table repeats; kNever: the last row stays
/// @returns one part per column, without text. @throws InputError naming `name`, line and field.
std::vector<SchedulePart> parse_schedule_csv(std::string_view text, const std::string& name,
                                             bool linear, double period);

}  // namespace thinpipe
