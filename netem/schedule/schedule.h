// A link's behaviour over time, as users write it and as a function of time. docs/schedules.md has
// the grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/schedule/part.h"

namespace thinpipe {

/// A link at one moment, or on average over a span.
struct LinkState {
  double rate = 0;   ///< bit/s, frames counted as qdiscs do; 0: nothing crosses
  double delay = 0;  ///< s, one way
  double loss = 0;   ///< share of frames, 0 to 1
  bool operator==(const LinkState&) const = default;
};

/// A schedule on one link: t is in seconds since it began, t >= 0.
class Schedule {
 public:
  Schedule(CurvePtr rate, CurvePtr delay, CurvePtr loss);

  LinkState at(double t) const;
  /// Bits that can cross between two moments: the integral of the rate, exact for every kind of
  /// schedule but for rounding.
  double bits(double from, double to) const { return rate_->integral(from, to); }
  /// Seconds from `from` on in which so many bits can cross; kNever when that takes over 10^6 s.
  double time_for(double from, double bits) const;
  /// Means over [from, to]; at(from) when they are the same.
  LinkState mean(double from, double to) const;
  /// The next moment at which the link must be told something: a corner of the schedule, or, while
  /// it changes all the time, `interval` seconds later.
  double next_change(double t, double interval) const;
  /// The same on a link in slow motion (netem/topology/time_scale.h): moments and delays times
  /// `factor`, rates divided by it.
  Schedule slowed(double factor) const;
  double most_rate() const { return rate_->most(); }
  double most_delay() const { return delay_->most(); }

 private:
  CurvePtr rate_, delay_, loss_;
};

/// A schedule that fits any link, since its levels may be shares of the link's own. Parts are of
/// every link, or of those that are named before them (`host3: outage:...`).
class ScheduleSpec {
 public:
  ScheduleSpec() = default;  ///< nothing ever changes
  ScheduleSpec(std::vector<SchedulePart> parts, std::optional<OutageTimes> outage, std::string text,
               std::string digest);

  /// Schedules of links by name, in the order given; of each only parts and outages.
  using Named = std::vector<std::pair<std::string, ScheduleSpec>>;
  void set_named(Named named) { named_ = std::move(named); }
  const Named& named() const { return named_; }
  /// True with parts or outages for every link.
  bool has_general() const { return !parts_.empty() || outage_; }
  /// The general parts, and those of `over` in place of those that are of the same quantity.
  ScheduleSpec with(const ScheduleSpec& over) const;
  /// The general parts but those of this quantity.
  ScheduleSpec without(Quantity quantity) const;

  bool empty() const { return !has_general() && named_.empty(); }
  /// Canonical text, which parse_schedule() reads back; "" when empty.
  const std::string& to_string() const { return text_; }
  /// The text, and the digests of the files in it: the same for the same schedule.
  std::string identity() const { return digest_.empty() ? text_ : text_ + "@" + digest_; }
  const std::string& digest() const { return digest_; }
  bool changes(Quantity quantity) const;  ///< of any link

  /// The same for links in slow motion: on() expects such a link's own state and gives what plays
  /// on it. Levels in the text stay those of the link that is emulated.
  ScheduleSpec slowed(double factor) const;

  /// The general parts on a link that is `own` where they say nothing or a share.
  /// @throws InputError when a rate comes out above 0 and under 1 kbit/s, or above 100 Gbit/s, or
  /// the link has none and needs one.
  Schedule on(const LinkState& own) const;

 private:
  std::vector<SchedulePart> parts_;
  std::optional<OutageTimes> outage_;
  Named named_;
  std::string text_, digest_;
  double slow_ = 1;
};

/// `none`, parts joined by `;`, or a file: such parts, one a line, `#` beginning a comment; a CSV
/// table; a mahimahi trace. The content tells which. A part may begin with the name of the links it
/// is of, as Topology::links_named() reads it: `host3: sine:...`.
/// @throws InputError naming file, line and field, or the part and its key.
ScheduleSpec parse_schedule(std::string_view text);

}  // namespace thinpipe
