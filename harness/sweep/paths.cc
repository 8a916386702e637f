#include "harness/sweep/paths.h"

#include <nlohmann/json.hpp>

#include "harness/critical_path/path_record.h"

namespace thinpipe {

nlohmann::json paths_of(const PointSamples& samples, const SweepPoint& point,
                        const ScheduleLog& schedule, const Topology& planned, bool one_clock) {
  std::vector<std::vector<StepTimeline>> steps;
  std::vector<StepPath> paths;
  for (std::size_t step = 0; step < samples.answers.size(); ++step) {
    steps.push_back(timelines_of(samples.answers[step], one_clock));
    std::vector<ServedExchange> served;
    if (!samples.servers.empty()) served = served_by(samples.servers[step], point.ranks, one_clock);
    paths.push_back(critical_path(steps.back(), point.feed.codec_beside, served));
  }
  RateOf rate = rates_as_set(planned);
  if (schedule.plays()) rate = [&](int link, bool up) { return schedule.mean_rate(link, up); };
  nlohmann::json record = path_record(
      paths, link_uses(samples.wire, planned, rate, exchange_seconds(steps)), point.time_scale);
  if (nlohmann::json longest = longest_payload(samples.answers); !longest.is_null())
    record["payload"] = std::move(longest);
  return record;
}

}  // namespace thinpipe
