// The points of a sweep on machines that are there: links calibrated, ranks started, points
// measured and recorded one after the other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/scale/chooser.h"
#include "harness/sweep/calibrator.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/options.h"
#include "harness/sweep/progress.h"
#include "reports/record/writer.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class Session {
 public:
  /// Gives so many machines; asked for another number, it may take the last ones away.
  using MachinesFor = std::function<Machines&(int hosts)>;

  Session(const SweepOptions& options, const Trace& trace, std::vector<SweepPoint> points,
          RecordWriter& writer);

  /// @param scratch  a folder of this machine, for logs
  /// @returns as run_sweep() does
  int run(const MachinesFor& machines_for, const std::string& scratch);

 private:
  int hosts_for(const SweepPoint& point) const;
  void use_machines(int hosts, const MachinesFor& machines_for);
  void choose_scale(SweepPoint& point);
  void calibrate_all(const MachinesFor& machines_for);
  void calibrate(const SweepPoint& point);
  void warn(const SweepPoint& point);
  void board(const SweepPoint& point, int ranks);
  nlohmann::json measure(const SweepPoint& point);
  int interrupted();

  const SweepOptions& options_;
  const Trace& trace_;
  std::vector<SweepPoint> points_;
  RecordWriter& writer_;
  Progress progress_;
  std::string scratch_;
  Machines* machines_ = nullptr;
  int hosts_ = 0;
  std::unique_ptr<Launch> launch_;
  LinkSpec connected_;  // that the launch's ranks met on
  ScaleChooser chooser_;
  std::map<std::string, std::string> refusals_;  // why points have no time scale, by their id
  Calibrator calibrator_;
  std::set<std::string> warned_;
};

}  // namespace thinpipe
