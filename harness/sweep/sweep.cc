#include "harness/sweep/sweep.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/units.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/launch/launch.h"
#include "harness/programs.h"
#include "harness/sweep/fingerprint.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/progress.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/star.h"
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
  return trace.times(0, 0).compute() * options.compute_scale + 0.005 +
         hops * bits_per_element * static_cast<double>(trace.elements()) / point.link.tcp_ceiling();
}

double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options) {
  return 0.1 + static_cast<double>(options.warmup + options.steps) *
                   expected_step_seconds(point, trace, options);
}

json header_of(const SweepOptions& options, const Trace& trace, const Star& star,
               const Launch* launch) {
  return {
      {"record", "header"},
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
      {"fingerprint", fingerprint(star.sysctls(), launch != nullptr ? launch->mpi_version() : "",
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
        progress_(total_seconds()) {}

  int run(const Sandbox& sandbox) {
    Star star(std::max(
        2, std::max_element(points_.begin(), points_.end(), [](const auto& a, const auto& b) {
             return a.ranks < b.ranks;
           })->ranks));
    Meter meter(star, trace_, options_);
    std::unique_ptr<Launch> launch;
    bool header_written = false;
    for (const SweepPoint& point : points_) {
      if (stop_requested()) break;
      const json record = measure(point, star, sandbox, meter, launch);
      if (stop_requested()) break;
      if (!header_written) {
        writer_.append(header_of(options_, trace_, star, launch.get()));
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
  double total_seconds() const {
    double total = 0;
    for (const SweepPoint& point : points_) total += expected_seconds(point, trace_, options_);
    return total;
  }

  // A launch serves as many points as it can; a broken one is replaced for the next point.
  json measure(const SweepPoint& point, Star& star, const Sandbox& sandbox, Meter& meter,
               std::unique_ptr<Launch>& launch) {
    const double step_seconds = expected_seconds(point, trace_, options_) /
                                static_cast<double>(options_.warmup + options_.steps);
    try {
      // A connection keeps the segment size and the window scale that it was made with.
      const bool other_connections =
          point.link.mtu != connected_.mtu || point.link.round_trip() > connected_.round_trip();
      if (launch && (launch->ranks() != point.ranks || other_connections)) {
        launch->quit();
        launch.reset();
      }
      if (!launch) {
        star.set_links(point.link);
        connected_ = point.link;
        progress_.describe(fmt::format("starting {} ranks", point.ranks));
        launch = std::make_unique<Launch>(star, sandbox, point.ranks);
      }
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

}  // namespace

int run_sweep(const SweepOptions& options) {
  const Trace trace(options.trace);
  for (const Spec& spec : options.compressors) check_spec(spec);
  find_program("thinpipe-worker");  // say now what is missing, not in the sandbox
  find_program("thinpipe-enter");
  if (!find_in_path("mpirun"))
    throw RunError("mpirun is not in the PATH; ./setup installs it (Debian: openmpi-bin)");
  require_kernel_features(options.links);
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
  return run_in_sandbox([&](const Sandbox& sandbox) {
    return Sweep(options, trace, std::move(points), writer).run(sandbox);
  });
}

}  // namespace thinpipe
