#include "harness/sweep/measure.h"

#include <fmt/format.h>

#include "harness/sweep/point_record.h"
#include "harness/sweep/point_run.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/time_scale.h"
#include "netem/topology/flows.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// As the kernel has them now, after the last step.
std::vector<std::string> alterations(Machines& machines, ScheduleLog& schedule) {
  std::vector<std::string> found =
      schedule.plays() ? schedule.alterations() : machines.alterations();
  constexpr std::size_t kMostTold = 3;  // of a network of which somebody took everything away
  if (found.size() > kMostTold) {
    const std::size_t more = found.size() - kMostTold;
    found.resize(kMostTold);
    found.back() += fmt::format("; and {} more", more);
  }
  return found;
}

}  // namespace

json Meter::failure(const SweepPoint& point, const std::string& reason) const {
  return failed_point(point, options_, reason);
}

PointSamples Meter::no_samples(const SweepPoint& point, const Topology& planned,
                               const CalibratedLink* calibrated, const Launch& launch) const {
  PointSamples samples;
  samples.on_device = options_.device != kDeviceCpu;
  samples.overlapped = point.feed.overlap != Overlap::kNone;
  samples.reference = launch.rank_machines().empty() ? "elements" : "projections";
  const std::uint32_t mtu = machines_.mtu(point.link);
  samples.frame_bytes = mtu + kEthernetHeader;
  samples.payload_bytes = mtu - kTcpHeaders;
  samples.time_scale = point.time_scale;
  samples.lossless = !disturbs(planned);
  const WayCalibration* farthest = calibrated != nullptr ? calibrated->figures.farthest() : nullptr;
  if (farthest != nullptr && machines_.sets_links()) {
    samples.goodput_ratio = farthest->ratio();
    samples.goodput_of = farthest->where;
  }
  return samples;
}

std::vector<std::string> Meter::doubts(const PointSamples& samples,
                                       const CalibratedLink* calibrated,
                                       ScheduleLog& schedule) const {
  std::vector<std::string> doubts = doubts_about(samples);
  if (calibrated == nullptr && machines_.sets_links())
    doubts.push_back("the link was not calibrated: no ranks could be started for that");
  if (calibrated != nullptr && !calibrated->error.empty())
    doubts.push_back("in the calibration of the link traffic did not come through: " +
                     calibrated->error);
  for (std::string& doubt : schedule.doubts()) doubts.push_back(std::move(doubt));
  for (const std::string& altered : alterations(machines_, schedule))
    doubts.push_back("somebody changed the links meanwhile: " + altered);
  return doubts;
}

json Meter::measure(const SweepPoint& point, Launch& launch, const std::function<void()>& stepped) {
  json record = describe(point, options_);
  const Topology planned =
      slowed(options_.topology.plan(machines_.size(), point.link), point.time_scale);
  const CalibratedLink* calibrated = calibrator_.find(machines_, point.link, point.time_scale);
  PointSamples samples = no_samples(point, planned, calibrated, launch);
  ScheduleLog schedule(machines_, point);  // sets the links
  PointRun run(point, options_, trace_, planned, machines_, launch, samples);
  try {
    run.prepare();
  } catch (const WorkerRefusal& refusal) {
    return failure(point, refusal.what());
  }
  run.step_without_exchange();
  run.take_steps(schedule, stepped);

  const std::vector<std::string> faults = faults_of(samples);
  const std::vector<std::string> reasons = doubts(samples, calibrated, schedule);
  if (!faults.empty()) return failure(point, fmt::format("{}", fmt::join(faults, "; ")));
  record["status"] = reasons.empty() ? "ok" : "invalid";
  record["reasons"] = reasons;
  add_measured(samples, point, {planned, schedule, calibrated, launch.rank_machines().empty()},
               trace_.elements() * sizeof(float), record);
  return record;
}

}  // namespace thinpipe
