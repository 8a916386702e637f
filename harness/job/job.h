// A measured job: programs of the user on calibrated links, with a record of what the links carried
// and of the steps that the programs report (docs/exec.md, "The record of a job").
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/job/program_network.h"
#include "harness/launch/calibration.h"
#include "harness/launch/emulated_machines.h"
#include "harness/sweep/schedule_log.h"
#include "netem/verify/machine_watch.h"
#include "reports/record/metrics.h"
#include "reports/record/record.h"
#include "reports/record/writer.h"

namespace thinpipe {

/// The environment variable with the folder for the ranks' reports. Rank 3 appends lines of JSON to
/// the file `3` in this folder.
inline constexpr const char* kStepsVariable = "THINPIPE_STEPS";

/// The reports of all ranks together.
struct JobSteps {
  std::string compressor = "none";  ///< as a rank named it
  std::string collective;           ///< likewise; "" unless reported
  /// Metrics that ranks may report: times of the slowest rank, means over the ranks of all others.
  Metrics metrics;
  std::vector<std::string> errors;  ///< lines that no rank should have written, with file and line
};

/// Reads the reports of all ranks. Ranks with different numbers of steps count up to the smallest
/// number. A rank without a file is ignored.
/// @param warmup  steps at the beginning that are left out
JobSteps read_steps(const std::filesystem::path& folder, int ranks, std::size_t warmup);

struct JobOptions {
  std::filesystem::path out;         ///< folder of the records; "" for none
  std::string compressor;            ///< in the record; "": as the job reports it
  std::size_t warmup = 2;            ///< steps at the beginning that are left out
  bool calibrate = true;             ///< measures the links before the job
  bool share_machine = false;        ///< a job beside other runs on this machine stays valid
  bool quiet = false;                ///< prints neither traffic nor verdict
  std::vector<std::string> command;  ///< argv, for the record
  std::vector<std::string> program;  ///< the user's program and its arguments
};

/// One job, in the sandbox of its network.
class Job {
 public:
  /// Opens the records, calibrates the links if the options say so, and sets kStepsVariable for the
  /// programs.
  /// @throws InputError when `out` has records of another kind; RunError when it cannot be written
  Job(const JobOptions& options, const ProgramNetwork& programs, EmulatedMachines& machines,
      const Sandbox& sandbox);

  /// Begins to watch the machine. Call it when the programs start.
  void begin();

  /// Notes whether another run measures on this machine. Takes a microsecond.
  void look_for_other_runs() { shared_ = shared_ || others_.any(); }

  /// Judges the measurement, prints its result and appends it to the records. Does nothing after a
  /// requested stop.
  /// @param code  the job's exit code; anything but 0 makes a failed point
  void finish(ScheduleLog& schedule, const ProgramTraffic& traffic, int code);

 private:
  void calibrate();
  Point described(const JobSteps& steps, const ScheduleLog& schedule,
                  const ProgramTraffic& traffic) const;
  void judge(const JobSteps& steps, const ScheduleLog& schedule,
             const std::vector<std::string>& of_links, const Disturbance& disturbance,
             const ProgramTraffic& traffic, Point& point);
  void record(Point point);

  const JobOptions& options_;
  const ProgramNetwork& programs_;
  EmulatedMachines& machines_;
  std::filesystem::path steps_;
  std::unique_ptr<RecordWriter> writer_;
  Calibrator calibrator_;
  const CalibratedLink* calibrated_ = nullptr;
  OtherRuns others_;
  bool shared_ = false;
  std::optional<MachineWatch> watch_;
  std::string started_;
};

}  // namespace thinpipe
