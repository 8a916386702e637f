// The sentence on what cannot be trusted.
#include <algorithm>
#include <cstddef>
#include <set>

#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// Repeats further apart than this make a figure of little use whatever its steps' spread.
constexpr double kLargeSpread = 0.1;

std::string first_reason(const Records& records, Status status) {
  for (const Point& point : records.points) {
    if (point.status == status && !point.reasons.empty())
      return "; first reason: " + point.reasons[0];
  }
  return "";
}

using Doubt = bool (*)(const Cell&);

// "3 points failed a check (sbc at 1 Gbit/s)": the cells in doubt by name.
std::string names_of(const Summary& summary, Doubt is_doubtful) {
  std::vector<std::string> names;
  for (const Group& group : summary.groups) {
    const std::string suffix = summary.groups.size() > 1 ? " with " + group.title : "";
    for (const Series& series : group.series) {
      for (const Cell& cell : series.cells) {
        if (is_doubtful(cell))
          names.push_back(series.label + " at " + format_rate(cell.rate) + suffix);
      }
    }
  }
  return listed(names);
}

std::string points(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " point" : " points");
}

std::size_t count_points(const Records& records, Status status) {
  return static_cast<std::size_t>(
      std::count_if(records.points.begin(), records.points.end(),
                    [&](const Point& point) { return point.status == status; }));
}

bool replays_one_trace(const Records& records) {
  std::set<std::string> traces;
  for (const Header& header : records.headers) {
    traces.insert(header.trace.value("identity", nlohmann::json()).dump());
  }
  return traces.size() <= 1;
}

std::vector<std::string> doubts(const Summary& summary) {
  const Records& records = *summary.records;
  std::vector<std::string> result;
  if (const std::size_t count = count_points(records, Status::kInvalid); count > 0) {
    result.push_back(points(count) + " failed a check (" +
                     names_of(summary, [](const Cell& cell) { return cell.invalid > 0; }) +
                     first_reason(records, Status::kInvalid) + ")");
  }
  if (const std::size_t count = count_points(records, Status::kFailed); count > 0) {
    result.push_back(points(count) + " could not be measured (" +
                     names_of(summary, [](const Cell& cell) { return cell.failed > 0; }) +
                     first_reason(records, Status::kFailed) + ")");
  }
  const std::string spread = names_of(summary, [](const Cell& cell) {
    return cell.status == Status::kOk && cell.repeat_spread.value_or(0) > kLargeSpread;
  });
  if (!spread.empty())
    result.push_back("repeats lie more than 10 % off their common median for " + spread);
  const std::string bare = names_of(summary, [](const Cell& cell) {
    return cell.status == Status::kOk && cell.step_time && !cell.step_time->interval;
  });
  if (!bare.empty()) result.push_back("fewer than 6 steps, and so no interval, for " + bare);
  if (!replays_one_trace(records)) result.push_back("the launches replayed different traces");
  return result;
}

}  // namespace

std::string trust_sentence(const Summary& summary) {
  const std::vector<std::string> all = doubts(summary);
  const std::string total = points(summary.records->points.size());
  std::string links = calibration_sentence(summary);
  if (!links.empty()) links = " " + links;
  if (all.empty()) {
    return "Nothing to doubt: " + total +
           " passed the checks of links, clocks and aggregates that were made while measuring." +
           links;
  }
  return "With care, of " + total + ": " + joined(all, "; ") + "." + links;
}

}  // namespace thinpipe
