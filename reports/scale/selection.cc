// Which points may stand together in a report.
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "reports/scale/scale.h"
#include "reports/text/lists.h"

namespace thinpipe {

namespace {

std::vector<std::string> texts(const std::set<double>& factors) {
  std::vector<std::string> result;
  for (const double factor : factors) result.push_back(fmt::format("{}", factor));
  return result;
}

std::set<double> factors_of(const Records& records) {
  std::set<double> factors;
  for (const Point& point : records.points) factors.insert(point.axes.time_scale);
  return factors;
}

}  // namespace

void require_one_time_scale(const Records& records) {
  std::map<std::tuple<int, std::string, std::string>, std::set<double>> seen;
  for (const Point& point : records.points) {
    std::set<double>& factors = seen[{point.axes.ranks, point.axes.topology, point.axes.link}];
    factors.insert(point.axes.time_scale);
    if (factors.size() > 1)
      throw InputError(fmt::format(
          "{}: {} ranks on {} were measured at time scales {}, which must not be mixed; `thinpipe "
          "report --time-scale {}` reports one, of {}, and says how they compare",
          records.file.string(), point.axes.ranks, point.axes.link, listed(texts(factors)),
          *factors_of(records).begin(), listed(texts(factors_of(records)))));
  }
}

Records at_time_scale(Records records, double factor) {
  const std::set<double> factors = factors_of(records);
  if (!factors.contains(factor))
    throw InputError(fmt::format("{}: no point was measured at time scale {}; there are {}",
                                 records.file.string(), factor, listed(texts(factors))));
  std::erase_if(records.points,
                [&](const Point& point) { return point.axes.time_scale != factor; });
  return records;
}

std::vector<std::string> time_scale_notes(const Records& records) {
  std::map<double, std::set<std::string>> links;
  for (const Point& point : records.points)
    links[point.axes.time_scale].insert(
        fmt::format("{} ranks on {}", point.axes.ranks, point.axes.link));
  links.erase(1);
  std::vector<std::string> notes;
  for (const auto& [factor, where] : links)
    notes.push_back(fmt::format(
        "Time scale {}: {} {} measured in {} motion. Links were set to 1/{} of their rate, delays "
        "and compute times to {} times theirs; the times in this report are those of the links as "
        "they are named, and the records have the raw ones too.",
        factor, listed({where.begin(), where.end()}), where.size() == 1 ? "was" : "were",
        factor > 1 ? "slow" : "fast", factor, factor));
  return notes;
}

}  // namespace thinpipe
