#include "harness/sweep/session.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "harness/sweep/expected_time.h"
#include "harness/sweep/header.h"
#include "harness/sweep/lines.h"
#include "netem/sandbox.h"
#include "netem/schedule/links.h"
#include "netem/time_scale.h"

namespace thinpipe {

namespace {

using nlohmann::json;

double total_seconds(const std::vector<SweepPoint>& points, const Trace& trace,
                     const SweepOptions& options) {
  double total = 0;
  for (const SweepPoint& point : points) total += expected_seconds(point, trace, options);
  return total;
}

}  // namespace

Session::Session(const SweepOptions& options, const Trace& trace, std::vector<SweepPoint> points,
                 RecordWriter& writer)
    : options_(options),
      trace_(trace),
      points_(std::move(points)),
      writer_(writer),
      progress_(total_seconds(points_, trace, options)),
      chooser_(options.threads) {}

int Session::run(const MachinesFor& machines_for, const std::string& scratch) {
  scratch_ = scratch;
  calibrate_all(machines_for);
  bool header_written = false;
  int failed = 0;
  for (const SweepPoint& point : points_) {
    if (stop_requested()) break;
    use_machines(hosts_for(point), machines_for);
    const json record = measure(point);
    if (stop_requested()) break;
    // Only now is it known what the ranks run on.
    if (!header_written)
      writer_.append(header_of(options_, trace_, *machines_, launch_.get(), calibrator_));
    header_written = true;
    writer_.append(record);
    failed += record.at("status") == "failed" ? 1 : 0;
    progress_.note(outcome_line(point, record));
  }
  if (launch_) launch_->quit();
  if (stop_requested()) return interrupted();
  return failed > 0 ? kExitFailed : kExitGood;
}

int Session::interrupted() {
  progress_.note("interrupted; what was measured is kept, and --resume goes on from there");
  return 128 + stop_signal();
}

// A star serves all its points, with a pair to calibrate on at least; the place of a host in other
// networks depends on how many there are.
int Session::hosts_for(const SweepPoint& point) const {
  if (!options_.topology.is_star()) return point.ranks;
  int most = 2;
  for (const SweepPoint& one : points_) most = std::max(most, one.ranks);
  return most;
}

void Session::use_machines(int hosts, const MachinesFor& machines_for) {
  if (hosts_ == hosts) return;
  if (launch_) launch_->quit();
  launch_.reset();
  machines_ = &machines_for(hosts);
  hosts_ = hosts;
}

// Fills in the point's time scale, or remembers why none will do.
void Session::choose_scale(SweepPoint& point) {
  Network& network = *machines_->network();
  Topology busiest = network.plan(point.link);
  for (const ScheduledLink& one : scheduled_links(busiest, point.schedule)) {
    LinkSpec& link = busiest.link(one.link);
    link.up.rate = std::max(link.up.rate, one.up.most_rate());
    link.down.rate = std::max(link.down.rate, one.down.most_rate());
  }
  const std::string key = point.link_text();
  const bool is_new = chooser_.is_new(key, point.ranks);
  const TimeScaleChoice& choice = chooser_.choose(network, key, point.ranks, busiest);
  std::string& refusal = refusals_[point.id(options_)];
  if (choice.refused) refusal = "--time-scale auto: " + choice.why;
  if (choice.factor > 1 && point.schedule.changes(Quantity::kLoss))
    refusal = "--time-scale auto: " + choice.why +
              ": but TCP's timers do not slow down, and the schedule loses frames";
  if (!refusal.empty()) return;
  point.time_scale = choice.factor;
  if (is_new)
    progress_.note(fmt::format("time scale {} for {} ranks on {}: {}", choice.factor, point.ranks,
                               link_line(point.link), choice.why));
}

// Before the first point, so that the header can say what the links are. A broken link is told of
// in its points; others go on.
void Session::calibrate_all(const MachinesFor& machines_for) {
  for (SweepPoint& point : points_) {
    if (stop_requested()) return;
    use_machines(hosts_for(point), machines_for);
    try {
      if (point.chooses_scale) choose_scale(point);
    } catch (const RunError& error) {
      refusals_[point.id(options_)] = error.what();
      continue;
    }
    if (!refusals_[point.id(options_)].empty()) continue;
    calibrate(point);
  }
}

void Session::calibrate(const SweepPoint& point) {
  const double factor = point.time_scale;
  if (calibrator_.find(*machines_, point.link, factor) != nullptr) return;
  progress_.describe("calibrating " + link_line(slowed(point.link, factor)));
  try {
    if (machines_->needs_ranks_to_calibrate())
      board(point, *std::max_element(options_.ranks.begin(), options_.ranks.end()));
    calibrator_.calibrate(*machines_, point.link, factor, launch_.get());
  } catch (const RunError&) {
    launch_.reset();  // it may be what broke
  }
  if (const CalibratedLink* one = calibrator_.find(*machines_, point.link, factor))
    progress_.note(one->to_string());
}

// A launch serves as many points as it can: ranks that meet on this link, or those there are.
void Session::board(const SweepPoint& point, int ranks) {
  const LinkSpec link = slowed(point.link, point.time_scale);
  // A connection keeps the segment size and the window scale that it was made with.
  const bool other_connections =
      link.mtu != connected_.mtu || link.round_trip() > connected_.round_trip();
  if (launch_ && (launch_->ranks() != ranks || other_connections)) {
    launch_->quit();
    launch_.reset();
  }
  if (launch_) return;
  machines_->set_links(point.link, point.time_scale);
  connected_ = link;
  progress_.describe(fmt::format("starting {} ranks", ranks));
  launch_ = std::make_unique<Launch>(*machines_, scratch_, ranks);
}

void Session::warn(const SweepPoint& point) {
  const Topology planned = options_.topology.plan(hosts_, point.link);
  for (const std::string& warning : time_scale_warnings(planned, point.time_scale))
    if (warned_.insert(fmt::format("{}|{}|{}", point.link.to_string(), point.time_scale, warning))
            .second)
      progress_.note(
          fmt::format("time scale {} on {}: {}", point.time_scale, link_line(point.link), warning));
}

// A broken launch is replaced for the next point.
json Session::measure(const SweepPoint& point) {
  Meter meter(*machines_, trace_, options_, calibrator_);
  const double step_seconds = expected_seconds(point, trace_, options_) /
                              static_cast<double>(options_.warmup + options_.steps);
  if (const std::string& refusal = refusals_[point.id(options_)]; !refusal.empty())
    return meter.failure(point, refusal);
  try {
    warn(point);
    board(point, point.ranks);
    progress_.describe(fmt::format("{} x {} on {}", point.ranks, point.compressor.to_string(),
                                   link_line(point.link)));
    return meter.measure(point, *launch_, [&] { progress_.advance(step_seconds); });
  } catch (const RunError& error) {
    launch_.reset();
    return meter.failure(point, error.what());
  }
}

}  // namespace thinpipe
