// A link's rate, delay and loss over time, as users write them and as functions. docs/schedules.md
// has the grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/schedule/part.h"

namespace thinpipe {

/// A link at one moment, or its mean over an interval.
struct LinkState {
  double rate = 0;   ///< bit/s, frames counted as qdiscs do; 0: nothing crosses
  double delay = 0;  ///< one-way delay in s
  double loss = 0;   ///< fraction of frames, 0 to 1
  bool operator==(const LinkState&) const = default;
};

/// The schedule of one link. `t` is in s since the schedule's start, t >= 0.
class Schedule {
 public:
  Schedule(CurvePtr rate, CurvePtr delay, CurvePtr loss);

  LinkState at(double t) const;
  /// Returns the bits that can cross in [from, to]: the integral of the rate, exact except for
  /// rounding.
  double bits(double from, double to) const { return rate_->integral(from, to); }
  /// Returns the time in s after `from` until `bits` bits can have crossed the link. Returns kNever
  /// if this takes more than 10^6 s.
  double time_for(double from, double bits) const;
  /// Returns the means over [from, to]; at(from) for an empty interval.
  LinkState mean(double from, double to) const;
  /// Returns the next moment at which the link's settings must change: a corner of the schedule or,
  /// while a quantity changes continuously, `interval` s later.
  double next_change(double t, double interval) const;
  /// Returns the schedule under time dilation (netem/topology/time_scale.h): times and delays
  /// multiplied by `factor`, rates divided by it.
  Schedule slowed(double factor) const;
  double most_rate() const { return rate_->most(); }
  double most_delay() const { return delay_->most(); }

 private:
  CurvePtr rate_, delay_, loss_;
};

/// A schedule that is not bound to one link: its levels may be relative to a link's own values. A
/// part applies to every link, or to the links whose name precedes it (`host3: outage:...`).
class ScheduleSpec {
 public:
  ScheduleSpec() = default;  ///< changes nothing
  ScheduleSpec(std::vector<SchedulePart> parts, std::optional<OutageTimes> outage, std::string text,
               std::string digest);

  /// Schedules of named links, in the order given. Each has only parts and an outage.
  using Named = std::vector<std::pair<std::string, ScheduleSpec>>;
  void set_named(Named named) { named_ = std::move(named); }
  const Named& named() const { return named_; }
  /// Returns true if parts or an outage apply to every link.
  bool has_general() const { return !parts_.empty() || outage_; }
  /// Returns the general parts, with the parts of `over` replacing those of the same quantity.
  ScheduleSpec with(const ScheduleSpec& over) const;
  /// Returns the general parts without those of this quantity.
  ScheduleSpec without(Quantity quantity) const;

  bool empty() const { return !has_general() && named_.empty(); }
  /// Returns canonical text, which parse_schedule() reads back; "" if empty.
  const std::string& to_string() const { return text_; }
  /// Returns the text with the digests of its files, which identifies the schedule.
  std::string identity() const { return digest_.empty() ? text_ : text_ + "@" + digest_; }
  const std::string& digest() const { return digest_; }
  bool changes(Quantity quantity) const;  ///< of any link

  /// Returns the schedule for links under time dilation: on() then takes a dilated link's own state
  /// and returns the dilated schedule. Levels in the text stay those of the emulated link.
  ScheduleSpec slowed(double factor) const;

  /// Returns the schedule of a link by the general parts (those without a link's name). `own` has
  /// the link's own values, which are used for quantities without a part and for relative levels.
  /// @throws InputError when a rate, dilated or not, is above 0 and under 1 kbit/s, or above 100
  /// Gbit/s, or when the link never has a rate.
  Schedule on(const LinkState& own) const;

 private:
  std::vector<SchedulePart> parts_;
  std::optional<OutageTimes> outage_;
  Named named_;
  std::string text_, digest_;
  double slow_ = 1;
};

/// Parses a schedule: `none`, parts separated by `;`, or a file's path. A file is a list of parts
/// (one per line, comments after `#`), a CSV table or a mahimahi trace. The file's content decides
/// which of them it is. A part may begin with a name of links for Topology::links_named(): `host3:
/// sine:...`.
/// @throws InputError naming file, line and field, or the part and its key.
ScheduleSpec parse_schedule(std::string_view text);

}  // namespace thinpipe
