// What the links were during each step of a point that has a schedule.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "harness/sweep/options.h"
#include "netem/schedule/player.h"

namespace thinpipe {

/// Plays the point's schedule from its first step on and remembers when its steps were. For a point
/// without one it only sets the links.
class ScheduleLog {
 public:
  ScheduleLog(Machines& machines, const SweepPoint& point);

  /// A step begins, measured or not; the schedule begins with the first one.
  void begin_step();
  /// It has ended.
  /// @throws RunError when the links could not be changed meanwhile.
  void end_step(bool measured);
  /// `least` and the seconds from now until the links have carried so many bits more; `least` alone
  /// without a schedule, or when they never will.
  double patience(double bits, double least) const;
  /// What the schedule has to do with a step that does not end, to be added to a reason: since when
  /// and until when nothing crosses, or how much does; "" without a schedule. @throws RunError when
  /// the links could not be changed.
  std::string hindrance() const;

  bool plays() const { return player_ != nullptr; }
  /// Ends the schedule. @returns what of the links is not as it was told last, in words: somebody
  /// else changed it. @throws RunError as end_step().
  std::vector<std::string> alterations();

  /// bit/s that a link had in one direction on average over the measured steps, as the network has
  /// it: in slow motion with a time scale. Only with a schedule.
  double mean_rate(int link, bool up) const;
  /// The `schedule` of docs/records.md; null without one.
  nlohmann::json record() const;
  /// Why the figures should not be trusted.
  std::vector<std::string> doubts() const;

 private:
  std::string span_of_outage(const Schedule& way, double now) const;
  struct Step {
    double begin = 0, end = 0;
  };
  nlohmann::json link_record(int link) const;

  std::string text_, digest_;
  double factor_;  // the point's time scale; records have the times of the emulated links
  std::unique_ptr<SchedulePlayer> player_;
  bool started_ = false;
  double step_begin_ = 0;
  std::vector<Step> steps_;
};

}  // namespace thinpipe
