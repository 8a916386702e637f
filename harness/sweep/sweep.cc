// Runs the points of a sweep: calibrates links, starts ranks, measures and records one point after
// the other.
#include "harness/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "harness/hosts/hosts.h"
#include "harness/launch/calibration.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/machine/machine.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/network_model.h"
#include "harness/predict/predictor.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/simulated.h"
#include "harness/sweep/time_scaling.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "reports/record/writer.h"
#include "reports/verdict/verdict.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using nlohmann::json;

double total_seconds(const std::vector<SweepPoint>& points, const Trace& trace,
                     const SweepOptions& options, const PointWork* work) {
  double total = 0;
  for (const SweepPoint& point : points)
    total += work ? work->expected_seconds(point) : expected_seconds(point, trace, options);
  return total;
}

class Session {
 public:
  /// Returns `hosts` machines. Machines returned earlier, of another number, may then be gone.
  using MachinesFor = std::function<Machines&(int hosts)>;

  /// @param others  other runs on this machine; null where ranks have machines of their own
  /// @param work  work at each point; null: the trace is replayed
  Session(const SweepOptions& options, const Trace& trace, std::vector<SweepPoint> points,
          RecordWriter& writer, const OtherRuns* others, PointWork* work)
      : options_(options),
        trace_(trace),
        points_(std::move(points)),
        writer_(writer),
        others_(others),
        work_(work),
        progress_(total_seconds(points_, trace, options, work)),
        chooser_(options.threads),
        predictor_(trace, options) {}

  /// @param scratch  a folder of this machine, for logs
  /// @returns as run_sweep() does
  int run(const MachinesFor& machines_for, const std::string& scratch) {
    scratch_ = scratch;
    calibrate_all(machines_for);
    for (const SweepPoint& planned : points_) {
      if (stop_requested()) break;
      Point point;
      try {
        use_machines(planned, machines_for);
        point = measure(planned);
      } catch (const RunError& error) {
        point = failed(planned, error.what() + trouble());
        launch_.reset();
        hosts_ = 0;  // the machines may be the cause: the next point gets new ones
      }
      if (stop_requested()) break;
      keep(planned, point);
    }
    if (!early_.empty() && machines_ != nullptr) write_header();
    if (launch_) launch_->quit();
    if (stop_requested()) {
      progress_.note(
          "interrupted; all points measured so far are recorded, and --resume continues");
      return 128 + stop_signal();
    }
    if (!early_.empty())  // no point could be measured
      throw RunError(early_.front().reasons.at(0));
    return failed_ > 0 ? kExitFailed : kExitGood;
  }

 private:
  // Records a point. The header describes the ranks' machines, so points that failed before ranks
  // have started are kept until others have.
  void keep(const SweepPoint& planned, Point point) {
    if (!header_written_ && !launch_) {
      early_.push_back(point);
    } else {
      write_header();
      try {
        writer_.append(point);
      } catch (const InputError& error) {  // too long, as of millions of steps
        point = failed(planned, error.what());
        writer_.append(point);
      }
      if (work_ && (point.status != Status::kFailed || point.diverged)) work_->recorded(planned);
    }
    failed_ += point.status == Status::kFailed ? 1 : 0;
    progress_.note(work_ ? work_->outcome(planned, point) : outcome_line(planned, point));
  }

  // Writes the header, if it is not written yet, and the points that were kept for it.
  void write_header() {
    if (header_written_) return;
    Header header = network_header({.kind = kRunKind,
                                    .command = options_.command,
                                    .seed = options_.seed,
                                    .threads = options_.threads},
                                   &trace_, *machines_, launch_.get(), calibrator_);
    header.created = began_;  // before the first point's `started`, as reports expect
    header.settings = Document(work_ ? work_->settings() : settings_of(options_));
    if (options_.device != kDeviceCpu && launch_) describe_devices(header);
    if (work_) work_->complete_header(header);
    writer_.append(header);
    header_written_ = true;
    for (const Point& one : early_) writer_.append(one);
    early_.clear();
  }

  void describe_devices(Header& header) {
    try {
      add_devices(*launch_, header);
    } catch (const WorkerRefusal&) {
      // Then no point could be measured, and the points' records have the reason.
    }
  }

  Point failed(const SweepPoint& planned, const std::string& reason) const {
    Point point = failed_point(planned, options_, reason);
    if (work_) work_->complete_axes(planned, point.axes);
    return point;
  }

  // Returns what may have caused a failure: rights that this process lacks, and emulated links that
  // were interrupted. Returns "" before the emulated machines exist, because run_in_sandbox()
  // reports missing rights itself.
  std::string trouble() const {
    if (machines_ == nullptr && !header_written_) return "";
    std::string text = rights_advice();
    if (machines_ == nullptr || machines_->network() == nullptr) return text;
    for (const std::string& one : machines_->network()->interruptions()) text += "; " + one;
    return text;
  }

  // Returns the number of hosts of the network in which the point runs. One star network serves all
  // points. It is as large as the largest point that can run, and has at least two hosts, to
  // calibrate between them. In other networks a host's position depends on the number of hosts, so
  // each number of hosts gets its own network.
  int hosts_for(const SweepPoint& point) const {
    if (!options_.topology.is_star()) return point.hosts();
    int most = std::max(2, point.hosts());
    for (const SweepPoint& one : points_)
      if (one.hosts() < too_many_) most = std::max(most, one.hosts());
    return most;
  }

  void use_machines(const SweepPoint& point, const MachinesFor& machines_for) {
    while (hosts_ != hosts_for(point)) {
      if (launch_) launch_->quit();
      launch_.reset();
      machines_ = nullptr;
      hosts_ = 0;
      const int hosts = hosts_for(point);
      try {
        machines_ = &machines_for(hosts);
        hosts_ = hosts;
      } catch (const RunError&) {
        if (hosts <= std::max(2, point.hosts())) throw;
        too_many_ = hosts;  // this point needs fewer
      }
    }
  }

  // Returns the factor that an earlier launch chose for points that are compared with this one.
  std::optional<double> earlier_scale(const SweepPoint& point) const {
    for (const Point& one : writer_.existing().points)
      if (one.status != Status::kFailed && one.id.find("|auto") != std::string::npos &&
          one.axes.ranks == point.ranks && one.axes.link == point.link_text() &&
          one.axes.topology == options_.topology.to_string())
        return one.axes.time_scale;
    return std::nullopt;
  }

  // Sets the time dilation of all points that have none yet. Points of one link and one number of
  // ranks get the same factor, as they are compared with each other: that of the records, or the
  // greatest that one of them needs. Points of other shards count too, because shards are merged.
  void choose_scales(const MachinesFor& machines_for) {
    struct Common {
      std::optional<double> recorded;
      double greatest = 0;
    };
    std::map<std::pair<std::string, int>, Common> factors;
    const auto choose = [&](SweepPoint& point, Common& common) {
      try {
        use_machines(point, machines_for);
        choose_scale(point);
        if (refusals_[point.id(options_)].empty())
          common.greatest = std::max(common.greatest, point.time_scale);
      } catch (const RunError& error) {
        refusals_[point.id(options_)] = error.what();
      }
    };
    for (SweepPoint& point : points_) {
      if (!point.chooses_scale || stop_requested()) continue;
      const auto [at, is_new] = factors.try_emplace({point.link_text(), point.ranks});
      Common& common = at->second;
      if (is_new) common.recorded = earlier_scale(point);
      if (!common.recorded) choose(point, common);
    }
    for (SweepPoint& point : scale_deciders(options_, points_)) {
      Common& common = factors[{point.link_text(), point.ranks}];
      if (!common.recorded && chooser_.is_new(point.link_text(), point.hosts()) &&
          !stop_requested())
        choose(point, common);
    }
    for (SweepPoint& point : points_) {
      if (!point.chooses_scale) continue;
      const Common& common = factors[{point.link_text(), point.ranks}];
      const double chosen = point.time_scale;
      point.time_scale = common.recorded.value_or(std::max(common.greatest, chosen));
      if (point.time_scale != chosen &&
          warned_.insert(fmt::format("{}|{}|auto", point.link_text(), point.ranks)).second)
        progress_.note(fmt::format("time scale {} for all points of {} workers on {}, as {}",
                                   point.time_scale, point.ranks, link_line(point.link),
                                   common.recorded ? "in the records" : "one of them needs it"));
    }
  }

  // Sets the point's time dilation, or stores the reason why no factor suits it.
  void choose_scale(SweepPoint& point) {
    Network& network = *machines_->network();
    Topology busiest = network.plan(point.link);
    for (const ScheduledLink& one : scheduled_links(busiest, point.schedule)) {
      LinkSpec& link = busiest.link(one.link);
      link.up.rate = std::max(link.up.rate, one.up.most_rate());
      link.down.rate = std::max(link.down.rate, one.down.most_rate());
    }
    const std::string key = point.link_text();
    const bool is_new = chooser_.is_new(key, point.hosts());
    const TimeScaleChoice& choice = chooser_.choose(network, key, point.hosts(), busiest);
    std::string& refusal = refusals_[point.id(options_)];
    if (choice.refused) refusal = "--time-scale auto: " + choice.why;
    if (choice.factor > 1 && point.schedule.changes(Quantity::kLoss))
      refusal = "--time-scale auto: " + choice.why +
                "; but the schedule loses frames, and TCP's timers do not slow down with the links";
    if (!refusal.empty()) return;
    try {
      scheduled_links(slowed(network.plan(point.link), choice.factor),
                      point.schedule.slowed(choice.factor));
    } catch (const InputError& error) {  // the schedule has a rate that is too low
      refusal = fmt::format("--time-scale auto: {}; but {}", choice.why, error.what());
      return;
    }
    point.time_scale = choice.factor;
    if (is_new)
      progress_.note(fmt::format("time scale {} for {} ranks on {}: {}", choice.factor,
                                 point.hosts(), link_line(point.link), choice.why));
  }

  // Calibrates all links before the first point, so that the header has their figures. A broken
  // link is reported in its points; the sweep continues.
  void calibrate_all(const MachinesFor& machines_for) {
    choose_scales(machines_for);
    for (const SweepPoint& point : points_) {
      if (stop_requested()) return;
      if (!refusals_[point.id(options_)].empty()) continue;
      try {
        use_machines(point, machines_for);
      } catch (const RunError&) {
        continue;  // run() tries again, and reports the error
      }
      calibrate(point);
    }
  }

  void calibrate(const SweepPoint& point) {
    const double factor = point.time_scale;
    if (calibrator_.find(*machines_, point.link, factor) != nullptr) return;
    progress_.describe("calibrating " + link_line(slowed(point.link, factor)));
    try {
      if (machines_->needs_ranks_to_calibrate()) board(point, host_counts(options_).back());
      calibrator_.calibrate(*machines_, point.link, factor, launch_.get());
    } catch (const RunError&) {
      launch_.reset();  // the launch may be broken
    }
    if (const CalibratedLink* one = calibrator_.find(*machines_, point.link, factor))
      progress_.note(one->to_string());
  }

  // Starts ranks on this link, or keeps the present ones: a launch serves as many points as it can.
  void board(const SweepPoint& point, int ranks) {
    // A TCP connection keeps the segment size and the window scale of its handshake. Only a link
    // with a delay needs another window.
    const std::uint32_t mtu = point.link.mtu;
    const Network* const network = machines_->network();
    const bool delays = network == nullptr ? point.link.round_trip() > 0
                                           : longest_round_trip(network->plan(point.link)) > 0;
    if (!launch_ || delays) machines_->set_links(point.link, point.time_scale);
    const double window = network == nullptr ? 0 : network->tcp_window();
    const bool other_connections = mtu != connected_mtu_ || window > connected_window_;
    if (launch_ && (launch_->ranks() != ranks || other_connections)) {
      launch_->quit();
      launch_.reset();
    }
    if (launch_) return;
    connected_mtu_ = mtu;
    connected_window_ = window;
    progress_.describe(fmt::format("starting {} ranks", ranks));
    launch_ = std::make_unique<Launch>(*machines_, scratch_, ranks,
                                       work_ ? work_->program() : "thinpipe-worker");
  }

  void warn(const SweepPoint& point) {
    const Topology planned = options_.topology.plan(hosts_, point.link);
    for (const std::string& warning : time_scale_warnings(planned, point.time_scale))
      if (warned_.insert(fmt::format("{}|{}|{}", point.link.to_string(), point.time_scale, warning))
              .second)
        progress_.note(fmt::format("time scale {} on {}: {}", point.time_scale,
                                   link_line(point.link), warning));
  }

  // Returns the point with the MTU that the machines' links have, for predictions. Links are set by
  // the planned point, because thinpipe does not set the MTU of real interfaces.
  SweepPoint as_carried(SweepPoint point) const {
    point.link.mtu = machines_->mtu(point.link, launch_.get());
    return point;
  }

  // Returns the machines' overhead on the point's links, measured by exchanges of its ranks.
  const MachineFigures& probed(const SweepPoint& point) {
    const std::string key =
        fmt::format("{}|{}|{}", point.link.to_string(), point.hosts(), point.time_scale);
    if (const auto known = probed_.find(key); known != probed_.end()) return known->second;
    machines_->set_links(point.link, point.time_scale);
    LinkFigures expected = predictor_.expected_links(as_carried(point));
    if (!machines_->sets_links()) expected.credit = 0;  // the real links' buckets are unknown
    MachineFigures found = probe_links(*launch_, expected);
    found.message_time /= point.time_scale;
    return probed_[key] = found;
  }

  // Returns the prediction of the point; empty where there is no model of it, and for methods of
  // plug-ins: a prediction runs the codec in this process, which an unsafe plug-in would end or
  // stop. @throws RunError when the launch broke.
  Document prediction(const SweepPoint& planned) {
    const SweepPoint point = as_carried(planned);
    const std::vector<Spec> specs = point.compressor.specs();
    if (std::any_of(specs.begin(), specs.end(),
                    [](const Spec& spec) { return find_method(spec.name).from_plugin; }))
      return {};
    if (!predictor_.refusal(point).empty()) return {};
    PredictedMachines machines;
    machines.network = probed(planned);
    // Ranks on machines of their own share no cores.
    if (launch_->rank_machines().empty()) machines.cores = cores_;
    try {
      const auto predicted = predictor_.predict(point, machines);
      if (!predicted) return {};
      json record = prediction_json(
          *predicted, predictor_.codec(point.compressor, point.bucketing, point.collective));
      record["basis"] = predictor_.basis(point, machines);
      if (point.link.rate() > 0 && !options_.is_baseline(point.compressor))
        record["break_even"] =
            break_even_json(predictor_.break_even(point, machines, options_.baselines));
      return Document(std::move(record));
    } catch (const InputError&) {
      return {};  // a codec that refuses the gradients fails the point itself
    }
  }

  Point measure_replay(const SweepPoint& planned, const std::function<void()>& look_around) {
    Meter meter(*machines_, trace_, options_, calibrator_);
    const double step_seconds = expected_seconds(planned, trace_, options_) /
                                static_cast<double>(options_.warmup + options_.steps);
    const Document predicted = prediction(planned);
    Point point = meter.measure(planned, *launch_, [&] {
      look_around();
      progress_.advance(step_seconds);
    });
    if (point.status != Status::kFailed) point.prediction = predicted;
    return point;
  }

  // @throws RunError when the launch broke.
  Point measure(const SweepPoint& planned) {
    if (const std::string& refusal = refusals_[planned.id(options_)]; !refusal.empty())
      return failed(planned, refusal);
    warn(planned);
    board(planned, planned.hosts());
    progress_.describe(fmt::format("{} x {} on {}", planned.ranks, planned.compressor.to_string(),
                                   link_line(planned.link)));
    bool shared = false;
    const auto look_around = [&] { shared = shared || (others_ != nullptr && others_->any()); };
    look_around();
    const auto advance = [&](double seconds) {
      look_around();
      progress_.advance(seconds);
    };
    const auto describe = [&](const std::string& what) { progress_.describe(what); };
    Point point = work_ ? work_->measure(planned, *machines_, *launch_, calibrator_,
                                         {advance, describe, [&] { return shared; }})
                        : measure_replay(planned, look_around);
    if (shared && point.status != Status::kFailed) mark_shared(options_.share_machine, point);
    return point;
  }

  const std::string began_ = created_now();
  const double cores_ = read_machine("/").cores;
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
  // When the launch's ranks opened their connections: of the links, and Network::tcp_window().
  std::uint32_t connected_mtu_ = 0;
  double connected_window_ = 0;
  ScaleChooser chooser_;
  std::map<std::string, std::string> refusals_;  // reasons of points without a time scale, by id
  Calibrator calibrator_;
  Predictor predictor_;
  std::map<std::string, MachineFigures> probed_;  // by link, hosts and time scale
  std::set<std::string> warned_;
  bool header_written_ = false;
  std::vector<Point> early_;  // points that ended before the header could be written
  int failed_ = 0;
};

// Measures points with a writer of their own.
using Runner = std::function<int(std::vector<SweepPoint>, RecordWriter&)>;

// Opens the records and calls `run` with the points that are not in them yet.
int with_missing_points(const SweepOptions& options, const Trace& trace, const PointWork* work,
                        const Runner& run) {
  RecordWriter writer(options.out,
                      options.resume ? RecordWriter::Mode::kResume : RecordWriter::Mode::kCreate);
  Header header;  // of this run
  if (work) work->complete_header(header);
  writer.require_kind(header.kind);
  check_same_trace(writer.existing(), trace);
  check_same_settings(writer.existing(), options, work ? work->settings() : settings_of(options));
  const std::set<std::string> finished = writer.existing().finished_ids();
  std::vector<SweepPoint> points = plan_sweep(options);
  std::erase_if(points, [&](const auto& point) {
    return !in_shard(point.normal_id(options), options.shard, options.shards);
  });
  const std::size_t all = points.size();
  std::erase_if(points, [&](const auto& point) { return point.is_in(finished, options); });
  if (points.size() < all)
    tell_user(fmt::format("{} of {} points are in the records already", all - points.size(), all));
  if (all == 0) tell_user("this shard has no point of the sweep");
  if (points.empty()) return kExitGood;
  return run(std::move(points), writer);
}

int run_on_real_machines(const SweepOptions& options, const Trace& trace, PointWork* work) {
  return run_outside_sandbox([&](const Sandbox& place) {
    // A host that refuses ends the run before any records exist.
    const auto machines =
        make_real_machines(*options.hosts, place.scratch, host_counts(options).back());
    return with_missing_points(options, trace, work, [&](auto points, RecordWriter& writer) {
      return Session(options, trace, std::move(points), writer, nullptr, work)
          .run([&](int) -> Machines& { return *machines; }, place.scratch);
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

int run_simulated(const SweepOptions& options, const Trace& trace) {
  find_program(kSimulateProgram);  // before records exist
  return run_outside_sandbox([&](const Sandbox&) {
    return with_missing_points(options, trace, nullptr, [&](auto points, RecordWriter& writer) {
      return simulate_points(options, trace, points, writer);
    });
  });
}

}  // namespace

int run_sweep(const SweepOptions& options, const Trace& trace, PointWork* work) {
  for (const std::string& pair : pairs_left_out(options))
    tell_user(fmt::format("left out: {}, which the collective cannot exchange", pair));
  if (options.simulated) return run_simulated(options, trace);
  // Reports a missing program now, not in the sandbox.
  find_program(work ? work->program() : "thinpipe-worker");
  find_program(options.hosts ? "thinpipe-shape" : "thinpipe-enter");
  if (!find_in_path("mpirun"))
    throw RunError("mpirun is not in the PATH; ./setup installs it (Debian: openmpi-bin)");
  return options.hosts ? run_on_real_machines(options, trace, work)
                       : run_on_emulated_machines(options, trace, work);
}

}  // namespace thinpipe
