// One part of a schedule: what happens to one quantity of a link. Its text taken apart, its values
// as users write them, and the kinds of parts that need no file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "netem/schedule/curve.h"

namespace thinpipe {

/// `kind:key=value,key=value`, taken apart. Keys are taken by those who know them; what is left
/// over in the end is an error. All errors are InputErrors that begin with `where` and the part,
/// and name the key, what was found and what is expected.
class ScheduleItems {
 public:
  /// @param where  "schedule", or "FILE:LINE"
  ScheduleItems(std::string where, std::string_view part);

  const std::string& kind() const { return kind_; }
  std::string take(const std::string& key);  ///< an error when it is not there
  std::optional<std::string> find(const std::string& key);
  /// All whose key begins with a digit, in their order: `5s=10mbit`.
  std::vector<std::pair<std::string, std::string>> take_points();
  /// An error when something is left; `known` are the keys of this kind.
  void finish(const std::vector<std::string>& known) const;
  [[noreturn]] void fail(const std::string& what) const;

  /// Calls `reader` with the text and puts the key before what it has to complain of.
  template <typename Read>
  auto read(const std::string& key, const std::string& text, Read reader) const;

 private:
  [[noreturn]] void fail_key(const std::string& key, const std::string& text,
                             const std::string& what) const;

  std::string where_, part_, kind_;
  std::vector<std::pair<std::string, std::string>> items_;
};

template <typename Read>
auto ScheduleItems::read(const std::string& key, const std::string& text, Read reader) const {
  try {
    return reader(text);
  } catch (const InputError& error) {
    fail_key(key, text, error.what());
  }
}

/// What a schedule can change of a link.
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

// The kinds that need no file; their grammar is in docs/schedules.md.
SchedulePart parse_steps(ScheduleItems& items);  ///< `steps` and `ramp`
SchedulePart parse_sine(ScheduleItems& items);
SchedulePart parse_walk(ScheduleItems& items);
OutageTimes parse_outage(ScheduleItems& items);
std::string outage_text(const OutageTimes& times);

}  // namespace thinpipe
