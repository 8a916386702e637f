// Runs the points of a sweep on given machines: calibrates links, starts ranks, measures and
// records one point after the other.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/launch/calibration.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/options/terminal.h"
#include "harness/plan/plan.h"
#include "harness/predict/predictor.h"
#include "harness/sweep/sweep.h"
#include "harness/sweep/time_scaling.h"
#include "reports/record/writer.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class OtherRuns;

class Session {
 public:
  /// Returns `hosts` machines. Machines returned earlier, of another number, may then be gone.
  using MachinesFor = std::function<Machines&(int hosts)>;

  /// @param others  other runs on this machine; null where ranks have machines of their own
  /// @param work  work at each point; null: the trace is replayed
  Session(const SweepOptions& options, const Trace& trace, std::vector<SweepPoint> points,
          RecordWriter& writer, const OtherRuns* others, PointWork* work = nullptr);

  /// @param scratch  a folder of this machine, for logs
  /// @returns as run_sweep() does
  int run(const MachinesFor& machines_for, const std::string& scratch);

 private:
  int hosts_for(const SweepPoint& point) const;
  void use_machines(const SweepPoint& point, const MachinesFor& machines_for);
  void choose_scale(SweepPoint& point);
  void calibrate_all(const MachinesFor& machines_for);
  void calibrate(const SweepPoint& point);
  void warn(const SweepPoint& point);
  void board(const SweepPoint& point, int ranks);
  Point failed(const SweepPoint& planned, const std::string& reason) const;
  Point measure(const SweepPoint& planned);
  Point measure_replay(const SweepPoint& planned, const std::function<void()>& look_around);
  Document prediction(const SweepPoint& point);
  const MachineFigures& probed(const SweepPoint& point);
  void keep(const SweepPoint& planned, const Point& point);
  void describe_devices(Header& header);
  std::string trouble() const;
  int interrupted();

  const SweepOptions& options_;
  const Trace& trace_;
  std::vector<SweepPoint> points_;
  RecordWriter& writer_;
  const OtherRuns* others_;
  PointWork* work_;
  Progress progress_;
  std::string scratch_;
  Machines* machines_ = nullptr;
  int hosts_ = 0;
  int too_many_ = std::numeric_limits<int>::max();  // hosts of a star that could not be made
  std::unique_ptr<Launch> launch_;
  LinkSpec connected_;  // on which the launch's ranks opened their connections
  ScaleChooser chooser_;
  std::map<std::string, std::string> refusals_;  // reasons of points without a time scale, by id
  Calibrator calibrator_;
  Predictor predictor_;
  std::map<std::string, MachineFigures> probed_;  // by link, ranks and time scale
  std::set<std::string> warned_;
  bool header_written_ = false;
  std::vector<Point> early_;  // points that ended before the header could be written
  int failed_ = 0;
};

}  // namespace thinpipe
