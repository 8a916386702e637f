#include "harness/sweep/paths.h"

#include <nlohmann/json.hpp>

#include "harness/critical_path/path_record.h"

namespace thinpipe {

nlohmann::json paths_of(const PointSamples& samples, const SweepPoint& point,
                        const ScheduleLog& schedule, const Topology& planned, bool one_clock) {
  std::vector<std::vector<StepTimeline>> steps;
  std::vector<StepPath> paths;
  for (const std::vector<nlohmann::json>& ranks : samples.answers) {
    steps.push_back(timelines_of(ranks, one_clock));
    paths.push_back(critical_path(steps.back(), point.feed.codec_beside));
  }
  RateOf rate = rates_as_set(planned);
  if (schedule.plays()) rate = [&](int link, bool up) { return schedule.mean_rate(link, up); };
  return path_record(paths, link_uses(samples.wire, planned, rate, exchange_seconds(steps)),
                     point.time_scale);
}

}  // namespace thinpipe
