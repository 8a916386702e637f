#include "harness/sweep/sweep.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/hosts/real_machines.h"
#include "harness/launch/emulated_machines.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/sweep/session.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "reports/record/writer.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

namespace {

// Measures points with a writer of their own.
using Runner = std::function<int(std::vector<SweepPoint>, RecordWriter&)>;

void tell_user(const std::string& line) {
  fmt::print(stderr, "{}\n", for_stream(STDERR_FILENO, line));
}

// Opens the records and calls `run` with the points that are not in them yet.
int with_missing_points(const SweepOptions& options, const Trace& trace, const PointWork* work,
                        const Runner& run) {
  RecordWriter writer(options.out,
                      options.resume ? RecordWriter::Mode::kResume : RecordWriter::Mode::kCreate);
  check_same_trace(writer.existing(), trace);
  check_same_settings(writer.existing(), options, work ? work->settings() : settings_of(options));
  const std::set<std::string> finished = writer.existing().finished_ids();
  std::vector<SweepPoint> points = plan_sweep(options);
  std::erase_if(points, [&](const auto& point) {
    return !in_shard(point.id(options), options.shard, options.shards);
  });
  const std::size_t all = points.size();
  std::erase_if(points, [&](const auto& point) { return finished.contains(point.id(options)); });
  if (points.size() < all)
    fmt::print(stderr, "{} of {} points are in the records already\n", all - points.size(), all);
  if (all == 0) fmt::print(stderr, "this shard has no point of the sweep\n");
  if (points.empty()) return kExitGood;
  return run(std::move(points), writer);
}

int run_on_real_machines(const SweepOptions& options, const Trace& trace, PointWork* work) {
  return run_outside_sandbox([&](const Sandbox& place) {
    // A host that refuses ends the run before any records exist.
    RealMachines machines(*options.hosts, place.scratch, host_counts(options).back());
    return with_missing_points(options, trace, work, [&](auto points, RecordWriter& writer) {
      return Session(options, trace, std::move(points), writer, nullptr, work)
          .run([&](int) -> Machines& { return machines; }, place.scratch);
    });
  });
}

int run_on_emulated_machines(const SweepOptions& options, const Trace& trace, PointWork* work) {
  require_kernel_features(all_links(options));
  return with_missing_points(options, trace, work, [&](auto points, RecordWriter& writer) {
    const OtherRuns others;
    if (others.any())
      tell_user(fmt::format(
          "another run is being measured on this machine, so the two take CPU time from each "
          "other{}",
          options.share_machine ? "" : "; points will be invalid (see --share-machine)"));
    return run_in_sandbox([&](const Sandbox& sandbox) {
      std::unique_ptr<EmulatedMachines> machines;
      const auto machines_for = [&](int hosts) -> Machines& {
        machines.reset();  // frees its names in the sandbox
        machines = std::make_unique<EmulatedMachines>(hosts, options.topology, sandbox);
        return *machines;
      };
      return Session(options, trace, std::move(points), writer, &others, work)
          .run(machines_for, sandbox.scratch);
    });
  });
}

}  // namespace

int run_sweep(const SweepOptions& options, const Trace& trace, PointWork* work) {
  for (const std::string& pair : pairs_left_out(options))
    tell_user(fmt::format("left out: {}, which the collective cannot exchange", pair));
  // Reports a missing program now, not in the sandbox.
  find_program(work ? work->program() : "thinpipe-worker");
  find_program(options.hosts ? "thinpipe-shape" : "thinpipe-enter");
  if (!find_in_path("mpirun"))
    throw RunError("mpirun is not in the PATH; ./setup installs it (Debian: openmpi-bin)");
  return options.hosts ? run_on_real_machines(options, trace, work)
                       : run_on_emulated_machines(options, trace, work);
}

}  // namespace thinpipe
