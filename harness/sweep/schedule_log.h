// Links during each step of a point that has a schedule.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "harness/plan/plan.h"
#include "netem/schedule/player.h"

namespace thinpipe {

/// Plays the point's schedule from its first step on and remembers when its steps were. For a point
/// without one it only sets the links.
class ScheduleLog {
 public:
  /// State of the schedule's clock between the end of a step and the begin of the next.
  enum class Between {
    kGoesOn,
    kStands,  ///< what happens there takes no time of the network that is emulated
  };
  ScheduleLog(Machines& machines, const SweepPoint& point, Between between = Between::kGoesOn);

  /// For a clock that stands between steps: the first step begins so many emulated s after the
  /// schedule. Before that step; links are as the schedule has them then.
  void begin_at(double emulated_seconds);
  /// A step begins in `in_seconds`, measured or not; the schedule begins with the first one.
  void begin_step(double in_seconds = 0);
  /// It has ended. @param took  emulated s, of a clock that stands between steps: so much it has
  /// gone on since the step's begin
  /// @throws RunError when the links could not be changed meanwhile.
  void end_step(bool measured, double took = 0);
  /// `least` and the seconds from now until the links have carried so many bits more; `least` alone
  /// without a schedule, or when they never will.
  double patience(double bits, double least) const;
  /// The schedule's part in a step that does not end, to be added to a reason: since when and until
  /// when nothing crosses, or how much does; "" without a schedule. @throws RunError when the links
  /// could not be changed.
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
  Between between_;
  double factor_;  // the point's time scale; records have the times of the emulated links
  std::unique_ptr<SchedulePlayer> player_;
  bool started_ = false;
  double step_begin_ = 0;
  double next_begin_ = 0;  // of the clock that stands
  std::vector<Step> steps_;
};

}  // namespace thinpipe
