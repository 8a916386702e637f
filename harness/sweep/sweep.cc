#include "harness/sweep/sweep.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/units.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/files/open_trace.h"
#include "harness/hosts/real_machines.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "harness/programs.h"
#include "harness/scale/chooser.h"
#include "harness/sweep/fingerprint.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/progress.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/time_scale.h"
#include "netem/topology/flows.h"
#include "reports/record/writer.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// Expected seconds of one step: only for the bar, so a rough model is enough.
double expected_step_seconds(const SweepPoint& point, const Trace& trace,
                             const SweepOptions& options) {
  const MethodInfo& method = find_method(point.compressor.name);
  const double bits_per_element =
      method.expected_bits ? method.expected_bits(Parameters(method.parameters, point.compressor))
                           : 32;
  const double hops = aggregation_of(point.compressor) == Aggregation::kAllReduce ? 2 : point.ranks;
  return point.time_scale * trace.times(0, 0).compute() * options.compute_scale + 0.005 +
         point.time_scale * hops * bits_per_element * static_cast<double>(trace.elements()) /
             point.link.tcp_ceiling();
}

double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options) {
  return 0.1 + static_cast<double>(options.warmup + options.steps) *
                   expected_step_seconds(point, trace, options);
}

// What the machines are, and what each rank told of its own.
json machines_of(const Machines& machines, const Launch* launch) {
  json text = machines.description();
  if (launch != nullptr && !launch->rank_machines().empty())
    text["ranks"] = launch->rank_machines();
  return text;
}

json header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
               const Launch* launch) {
  return {{"record", "header"},
          {"version", kRecordVersion},
          {"kind", "run"},
          {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"command", options.command},
          {"seed", options.seed},
          {"threads", options.threads},
          {"simd", simd_target()},
          {"trace",
           {{"path", options.trace.string()},
            {"model", trace.model()},
            {"identity", trace.identity()},
            {"elements", trace.elements()},
            {"tensors", trace.tensors().size()},
            {"ranks", trace.ranks()},
            {"steps", trace.steps()}}},
          {"machines", machines_of(machines, launch)},
          {"fingerprint",
           fingerprint(machines.sysctls(), launch != nullptr ? launch->mpi_version() : "",
                       launch != nullptr ? launch->congestion_control() : "")}};
}

// For people: "100 Mbit/s", or the whole of it where there is more to say.
std::string link_line(const LinkSpec& link) {
  LinkSpec plain;
  plain.up.rate = plain.down.rate = link.rate();
  return link == plain ? format_rate(link.rate()) : link.to_string();
}

std::string outcome_line(const SweepPoint& point, const json& record) {
  std::string line = fmt::format("{:<7} {} x {} on {}", record.at("status").get<std::string>(),
                                 point.ranks, point.compressor.to_string(), link_line(point.link));
  if (const double factor = record.at("axes").at("time_scale"); factor != 1)
    line += fmt::format(" at time scale {}", factor);
  if (record.contains("metrics")) {
    auto times = record.at("metrics").at("step_time").at("samples").get<std::vector<double>>();
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    line += fmt::format(": {} a step", format_time(times[times.size() / 2]));
  }
  for (const json& reason : record.at("reasons")) line += "; " + reason.get<std::string>();
  return line;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, const Trace& trace, std::vector<SweepPoint> points,
        RecordWriter& writer)
      : options_(options),
        trace_(trace),
        points_(std::move(points)),
        writer_(writer),
        progress_(total_seconds()),
        chooser_(options.threads) {}

  /// @param machines_for  gives so many; asked for another number, it may take the last ones away
  /// @param scratch       a folder of this machine, for logs
  int run(const std::function<Machines&(int hosts)>& machines_for, const std::string& scratch) {
    Machines* machines = nullptr;
    int hosts = 0;
    std::unique_ptr<Meter> meter;
    std::unique_ptr<Launch> launch;
    bool header_written = false;
    for (const SweepPoint& point : points_) {
      if (stop_requested()) break;
      if (hosts != hosts_for(point)) {
        if (launch) launch->quit();
        launch.reset();
        meter.reset();
        hosts = hosts_for(point);
        machines = &machines_for(hosts);
        meter = std::make_unique<Meter>(*machines, trace_, options_);
      }
      const json record = measure(point, *machines, scratch, *meter, launch);
      if (stop_requested()) break;
      if (!header_written) {
        writer_.append(header_of(options_, trace_, *machines, launch.get()));
        header_written = true;
      }
      writer_.append(record);
      failed_ = failed_ + (record.at("status") == "failed" ? 1 : 0);
      progress_.note(outcome_line(point, record));
    }
    if (launch) launch->quit();
    if (stop_requested()) {
      progress_.note("interrupted; what was measured is kept, and --resume goes on from there");
      return 128 + stop_signal();
    }
    return failed_ > 0 ? kExitFailed : kExitGood;
  }

 private:
  // A star serves all its points, with a pair to calibrate on at least; the place of a host in
  // other networks depends on how many there are.
  int hosts_for(const SweepPoint& point) const {
    if (!options_.topology.is_star()) return point.ranks;
    int most = 2;
    for (const SweepPoint& one : points_) most = std::max(most, one.ranks);
    return most;
  }

  double total_seconds() const {
    double total = 0;
    for (const SweepPoint& point : points_) total += expected_seconds(point, trace_, options_);
    return total;
  }

  // A launch serves as many points as it can: ranks that meet on this link, or those there are.
  void board(const LinkSpec& link, int ranks, Machines& machines, const std::string& scratch,
             std::unique_ptr<Launch>& launch) {
    // A connection keeps the segment size and the window scale that it was made with.
    const bool other_connections =
        link.mtu != connected_.mtu || link.round_trip() > connected_.round_trip();
    if (launch && (launch->ranks() != ranks || other_connections)) {
      launch->quit();
      launch.reset();
    }
    if (launch) return;
    machines.set_links(link);
    connected_ = link;
    progress_.describe(fmt::format("starting {} ranks", ranks));
    launch = std::make_unique<Launch>(machines, scratch, ranks);
  }

  // The point with its time scale chosen, or why none will do.
  std::string choose_scale(SweepPoint& point, Network& network) {
    LinkSpec busiest = point.link;
    if (!point.schedule.empty())
      for (Direction* way : {&busiest.up, &busiest.down})
        way->rate = std::max(way->rate, point.schedule.on({way->rate, 0, 0}).most_rate());
    const bool is_new = chooser_.is_new(busiest, point.ranks);
    const TimeScaleChoice& choice = chooser_.choose(network, point.ranks, busiest);
    if (choice.refused) return "--time-scale auto: " + choice.why;
    if (choice.factor > 1 && point.schedule.changes(Quantity::kLoss))
      return "--time-scale auto: " + choice.why +
             ": but TCP's timers do not slow down, and the schedule loses frames";
    point.time_scale = choice.factor;
    if (is_new)
      progress_.note(fmt::format("time scale {} for {} ranks on {}: {}", choice.factor, point.ranks,
                                 link_line(point.link), choice.why));
    return "";
  }

  void warn(const SweepPoint& point) {
    for (const std::string& warning : time_scale_warnings(point.link, point.time_scale))
      if (warned_.insert(fmt::format("{}|{}|{}", point.link.to_string(), point.time_scale, warning))
              .second)
        progress_.note(fmt::format("time scale {} on {}: {}", point.time_scale,
                                   link_line(point.link), warning));
  }

  // A broken launch is replaced for the next point.
  json measure(SweepPoint point, Machines& machines, const std::string& scratch, Meter& meter,
               std::unique_ptr<Launch>& launch) {
    const double step_seconds = expected_seconds(point, trace_, options_) /
                                static_cast<double>(options_.warmup + options_.steps);
    try {
      if (point.chooses_scale) {
        const std::string refusal = choose_scale(point, *machines.network());
        if (!refusal.empty()) return meter.failure(point, refusal);
      }
      warn(point);
      board(slowed(point.link, point.time_scale), point.ranks, machines, scratch, launch);
      progress_.describe(fmt::format("{} x {} on {}", point.ranks, point.compressor.to_string(),
                                     link_line(point.link)));
      return meter.measure(point, *launch, [&] { progress_.advance(step_seconds); });
    } catch (const RunError& error) {
      launch.reset();
      return meter.failure(point, error.what());
    }
  }

  const SweepOptions& options_;
  const Trace& trace_;
  std::vector<SweepPoint> points_;
  RecordWriter& writer_;
  Progress progress_;
  LinkSpec connected_;  // that the launch's ranks met on
  ScaleChooser chooser_;
  std::set<std::string> warned_;
  int failed_ = 0;
};

// Figures that stand in one file are drawn together.
void check_same_settings(const Records& existing, const Trace& trace, const SweepOptions& options) {
  for (const Header& header : existing.headers) {
    if (header.trace.value("identity", "") != trace.identity())
      throw InputError(fmt::format(
          "{}: the records there are of another trace ({}, not {}); give another --out",
          existing.file.string(), header.trace.value("path", "?"), trace.folder().string()));
    if (header.threads != options.threads || (!header.simd.empty() && header.simd != simd_target()))
      throw InputError(fmt::format(
          "{}: the records there were measured with --threads {} --simd {}, not with --threads {}"
          " --simd {}; give another --out",
          existing.file.string(), header.threads, header.simd.empty() ? "best" : header.simd,
          options.threads, simd_target()));
  }
}

// Every link that the sweep will set. Says what is wrong with the topology before anything is
// built.
std::vector<LinkSpec> all_links(const SweepOptions& options) {
  std::vector<LinkSpec> links;
  const auto planned = [&](const LinkSpec& link) {
    return links_as_set(options.topology.plan(options.ranks[0], link));
  };
  for (std::size_t i = 1; i < options.links.size(); ++i)
    if (planned(options.links[i]) == planned(options.links[0]))
      throw InputError(fmt::format(
          "topology '{}': no link of it depends on --link, so {} and {} would measure the same;"
          " give one --link",
          options.topology.to_string(), options.links[0].to_string(),
          options.links[i].to_string()));
  for (const int ranks : options.ranks)
    for (const LinkSpec& link : options.links)
      for (const LinkSpec& one : links_as_set(options.topology.plan(ranks, link)))
        if (std::find(links.begin(), links.end(), one) == links.end()) links.push_back(one);
  return links;
}

// Measures points with a writer that nobody else has.
using Runner = std::function<int(std::vector<SweepPoint>, RecordWriter&)>;

// What cannot be run at a time scale is refused before anything is started.
void check_time_scales(const SweepOptions& options) {
  for (const double factor : options.time_scales) {
    if (factor != 1 && !options.topology.is_star())
      throw InputError(fmt::format(
          "--time-scale {} with --topology {}: links that a topology gives rates of their own would"
          " not be slowed down; expected 1, or a star",
          factor == kAutoTimeScale ? "auto" : fmt::format("{}", factor),
          options.topology.to_string()));
    if (factor != 1 && options.hosts)
      throw InputError("--time-scale goes with emulated hosts; with --hosts expected 1");
    for (const LinkSpec& link : options.links)
      if (factor != kAutoTimeScale) slowed(link, factor);  // a refusal belongs before the sandbox
  }
}

// Opens the records and hands over the points that are not in them yet.
int with_missing_points(const SweepOptions& options, const Trace& trace, const Runner& run) {
  RecordWriter writer(options.out,
                      options.resume ? RecordWriter::Mode::kResume : RecordWriter::Mode::kCreate);
  check_same_settings(writer.existing(), trace, options);
  const std::set<std::string> finished = writer.existing().finished_ids();
  std::vector<SweepPoint> points = plan_sweep(options);
  const std::size_t all = points.size();
  std::erase_if(points, [&](const auto& point) { return finished.contains(point.id(options)); });
  if (points.size() < all)
    fmt::print(stderr, "{} of {} points are in the records already\n", all - points.size(), all);
  if (points.empty()) return kExitGood;
  return run(std::move(points), writer);
}

int run_on_real_machines(const SweepOptions& options, const Trace& trace) {
  return run_outside_sandbox([&](const Sandbox& place) {
    // A host that refuses does so before there are records.
    RealMachines machines(*options.hosts, place.scratch,
                          *std::max_element(options.ranks.begin(), options.ranks.end()));
    return with_missing_points(options, trace, [&](auto points, RecordWriter& writer) {
      return Sweep(options, trace, std::move(points), writer)
          .run([&](int) -> Machines& { return machines; }, place.scratch);
    });
  });
}

int run_on_emulated_machines(const SweepOptions& options, const Trace& trace) {
  require_kernel_features(all_links(options));
  return with_missing_points(options, trace, [&](auto points, RecordWriter& writer) {
    return run_in_sandbox([&](const Sandbox& sandbox) {
      std::unique_ptr<EmulatedMachines> machines;
      const auto machines_for = [&](int hosts) -> Machines& {
        machines.reset();  // its names in the sandbox must be free again
        machines = std::make_unique<EmulatedMachines>(hosts, options.topology, sandbox);
        return *machines;
      };
      return Sweep(options, trace, std::move(points), writer).run(machines_for, sandbox.scratch);
    });
  });
}

}  // namespace

int run_sweep(const SweepOptions& options) {
  const Trace trace = open_trace(options.trace);
  for (const Spec& spec : options.compressors) check_spec(spec);
  check_time_scales(options);
  find_program("thinpipe-worker");  // say now what is missing, not in the sandbox
  find_program(options.hosts ? "thinpipe-shape" : "thinpipe-enter");
  if (!find_in_path("mpirun"))
    throw RunError("mpirun is not in the PATH; ./setup installs it (Debian: openmpi-bin)");
  return options.hosts ? run_on_real_machines(options, trace)
                       : run_on_emulated_machines(options, trace);
}

}  // namespace thinpipe
