#include <algorithm>

#include "base/error.h"
#include "reports/export/export.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

constexpr double kMicroseconds = 1e6;
constexpr double kBetweenPoints = 1000;       // us
constexpr int kComputes = 1, kExchanges = 2;  // thread numbers

Json name_event(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

// Returns when the point's last phase ends, us.
double add_point(const Json& point, double begin, int& process, Json& events) {
  double end = begin;
  const Json& ranks = point.at("timeline").at("ranks");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ++process;
    events.push_back(
        name_event("process_name", process, 0,
                   "rank " + std::to_string(rank) + ", " + point.at("id").get<std::string>()));
    events.push_back(name_event("thread_name", process, kComputes, "computes"));
    events.push_back(name_event("thread_name", process, kExchanges, "exchanges"));
    for (const Json& span : ranks[rank]) {
      const std::string phase = span[0];
      const double from = begin + kMicroseconds * span[2].get<double>();
      const double until = begin + kMicroseconds * span[3].get<double>();
      events.push_back({{"ph", "X"},
                        {"name", phase},
                        {"cat", "step"},
                        {"pid", process},
                        {"tid", phase == "exchange" ? kExchanges : kComputes},
                        {"ts", from},
                        {"dur", until - from},
                        {"args", {{"bucket", span[1]}}}});
      end = std::max(end, until);
    }
  }
  return end;
}

}  // namespace

std::string export_perfetto(const std::vector<LaunchRecords>& launches) {
  Json events = Json::array();
  double begin = 0;
  int process = 0;
  for (const LaunchRecords& launch : launches) {
    for (const Json& point : launch.points) {
      if (!point.contains("timeline")) continue;
      begin = add_point(point, begin, process, events) + kBetweenPoints;
    }
  }
  if (events.empty())
    throw InputError("no point of these records has a timeline; `thinpipe run` records them");
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace thinpipe
