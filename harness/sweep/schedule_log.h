// The state of the links during each step of a point that has a schedule.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "harness/plan/plan.h"
#include "netem/schedule/player.h"

namespace thinpipe {

/// Plays the point's schedule from its first step on and logs when its steps began and ended. For a
/// point without a schedule, only sets the links.
class ScheduleLog {
 public:
  /// State of the schedule's clock between the end of a step and the begin of the next.
  enum class Between {
    kGoesOn,
    kStands,  ///< work between steps takes no time of the emulated network
  };
  ScheduleLog(Machines& machines, const SweepPoint& point, Between between = Between::kGoesOn);

  /// Sets the links as the schedule has them at `emulated_seconds`, the time at which the first
  /// step begins. Call it only before the first step, and only if the clock stands between steps.
  void begin_at(double emulated_seconds);
  /// Announces a step, measured or not, that begins in `in_seconds`. The schedule begins with the
  /// first step.
  void begin_step(double in_seconds = 0);
  /// Ends the step. @param took  emulated s of the step, for a clock that stands between steps
  /// @throws RunError when the links could not be changed during the step.
  void end_step(bool measured, double took = 0);
  /// Returns `least` plus the seconds from now until the links have carried `bits` more. Returns
  /// `least` without a schedule, or if the links will never carry that much.
  double timeout(double bits, double least) const;
  /// Returns a text on how the schedule delays a step that does not end: the time from when to when
  /// no traffic passes, or the mean rate. The text is appended to the reason of the failure. ""
  /// without a schedule.
  /// @throws RunError when the links could not be changed.
  std::string hindrance() const;

  bool plays() const { return player_ != nullptr; }
  /// Ends the schedule. Returns the settings of links that another program changed, in words.
  /// @throws RunError as end_step().
  std::vector<std::string> drift();

  /// Returns the mean rate of a link in one direction over the measured steps, in bit/s of the
  /// network as it is set (with time dilation). Only with a schedule.
  double mean_rate(int link, bool up) const;
  /// Returns the `schedule` of docs/records.md; null without a schedule.
  nlohmann::json record() const;
  /// Returns the reasons not to trust the figures.
  std::vector<std::string> warnings() const;

 private:
  std::string span_of_outage(const Schedule& way, double now) const;
  struct Step {
    double begin = 0, end = 0;
  };
  nlohmann::json link_record(int link) const;

  std::string text_, digest_;
  Between between_;
  double factor_;  // time dilation of the point; records have the times of the emulated links
  std::unique_ptr<SchedulePlayer> player_;
  bool started_ = false;
  double step_begin_ = 0;
  double next_begin_ = 0;  // of a clock that stands between steps
  std::vector<Step> steps_;
};

}  // namespace thinpipe
