// An emulated network in which programs of the user run, and the programs of a job's ranks: their
// output, and their end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/machines.h"
#include "harness/plan/plan.h"
#include "harness/sweep/schedule_log.h"
#include "netem/file_descriptor.h"
#include "netem/host.h"
#include "netem/host_program.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/schedule/schedule.h"
#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// Counters of the links while programs ran.
struct ProgramTraffic {
  double seconds = 0;
  WireCount wire;
};

class ProgramNetwork {
 public:
  /// @param schedule  empty: the links do not change
  /// @throws InputError when topology, hosts, link and schedule do not fit each other
  ProgramNetwork(const TopologySpec& spec, int hosts, const LinkSpec& link,
                 const ScheduleSpec& schedule);

  const Topology& planned() const { return planned_; }
  const TopologySpec& spec() const { return spec_; }
  /// Returns the network as a point of a sweep: link, schedule and number of ranks.
  const SweepPoint& point() const { return point_; }

  /// Builds the network in a sandbox and calls three functions there, one after the other:
  ///   prepare(machines, sandbox) -> kept        before the links are set, for measurements
  ///   run(machines, kept, begin) -> exit code   runs the programs; begin() starts the schedule
  ///   finish(schedule, traffic, code, kept)     not after a stop before begin()
  /// @param keyboard_to_programs  see run_in_sandbox()
  /// @returns the exit code of the programs, or 128 plus the number of a stop signal
  template <class Prepare, class Run, class Finish>
  int run(const Prepare& prepare, const Run& run, const Finish& finish,
          bool keyboard_to_programs) const {
    std::vector<LinkSpec> needed = links_as_set(planned_);
    if (!point_.schedule.empty())
      for (LinkSpec& link : links_as_played(scheduled_links(planned_, point_.schedule)))
        needed.push_back(std::move(link));
    require_kernel_features(needed);
    return run_in_sandbox(
        [&](const Sandbox& sandbox) {
          EmulatedMachines machines(point_.ranks, spec_, sandbox);
          name_hosts_for_programs(*machines.network(), sandbox);
          give_cubic_to_programs(*machines.network(), sandbox);
          auto kept = prepare(machines, sandbox);
          if (stop_requested()) return 128 + stop_signal();
          ScheduleLog schedule(machines, point_);  // sets the links
          const WireCount before = machines.count_wire(point_.ranks);
          std::optional<double> begun;
          const int code = run(machines, kept, [&] {
            begun = now_seconds();
            schedule.begin_step();
          });
          if (!begun) return code;
          schedule.end_step(/*measured=*/true);
          const ProgramTraffic traffic{now_seconds() - *begun,
                                       between(before, machines.count_wire(point_.ranks))};
          finish(schedule, traffic, code, kept);
          return code;
        },
        keyboard_to_programs);
  }

 private:
  static void name_hosts_for_programs(const Network& network, const Sandbox& sandbox);
  // Gives programs the congestion control of the ranks of `thinpipe run`.
  static void give_cubic_to_programs(const Network& network, const Sandbox& sandbox);

  TopologySpec spec_;
  Topology planned_;
  SweepPoint point_;
};

/// Starts a program with the host's name in its environment (THINPIPE_HOST).
/// @param output  receives the program's output; -1: this process's streams
/// @throws InputError when there is no such program
std::unique_ptr<HostProgram> start_program(
    const Host& host, const std::vector<std::string>& words,
    HostProgram::Streams streams = HostProgram::Streams::kOurs, int output = -1);

/// A program whose output is printed to stdout line by line, with the rank in front: "[3] step 20".
class RankProgram {
 public:
  /// @param prefix  of each line; "" for mpirun, whose own tags (--tag-output) become such prefixes
  /// @throws InputError when there is no such program
  RankProgram(const Host& host, const std::vector<std::string>& words, std::string prefix);

  /// Returns the descriptor of the output; -1 at its end.
  int descriptor() const { return reading_.valid() ? reading_.get() : -1; }
  /// Prints the lines that can be read without waiting.
  void print_output();
  /// Returns false for mpirun, which reports failures of its ranks itself.
  bool is_rank() const { return !prefix_.empty(); }
  std::optional<int> exit_code() { return program_->exit_code(); }
  /// Sends a signal to a rank with all processes that it started; mpirun passes it on by itself.
  void signal(int number) { is_rank() ? program_->signal_group(number) : program_->signal(number); }
  /// Sends SIGSTOP or SIGCONT to the program and all that it started.
  void suspend_or_continue(int number) { program_->signal_group(number); }

 private:
  void print_line();

  std::string prefix_;
  std::string line_;
  FileDescriptor reading_;
  std::unique_ptr<HostProgram> program_;
};

/// Returns a line of `mpirun --tag-output` with the rank in front: "[2] text" of
/// "[1,2]<stdout>:text". Other lines are unchanged.
std::string with_rank_in_front(const std::string& line);

using RankPrograms = std::vector<std::unique_ptr<RankProgram>>;

/// Runs the programs until all have ended, and prints their output. The first program that fails,
/// the end timeout, or a requested stop, ends the others.
/// @param end_timeout  seconds that the others have to end after the first program; 0: no limit
/// @param look  is called many times a second
/// @returns the first failure's exit code, kExitFailed after the end timeout, 128 plus the number
/// of a stop signal, or 0
int run_ranks(RankPrograms& programs, double end_timeout, const std::function<void()>& look);

/// Prints the traffic of each host to stderr, because stdout belongs to the programs.
void print_traffic(const ProgramNetwork& programs, const ProgramTraffic& traffic);

}  // namespace thinpipe
