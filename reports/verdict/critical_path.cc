// The sentence on what steps waited for.
#include <algorithm>
#include <map>

#include "reports/statistics/quantile.h"
#include "reports/text/critical_path.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// What several points say of one host's phase.
struct Waits {
  std::vector<double> shares;
  double most = 0;
  std::string where;  // "topk at 1 Gbit/s", of the most
};

std::string wait_clause(const std::string& whom, const Waits& waits) {
  const std::string most = format_percent(waits.most) + " of their time for " + whom;
  if (waits.shares.size() == 1) return "steps of " + waits.where + " waited " + most;
  return "steps waited up to " + most + " (" + waits.where + "; median of " +
         std::to_string(waits.shares.size()) + " points " + format_percent(median(waits.shares)) +
         ")";
}

}  // namespace

std::string critical_path_sentence(const Group& group) {
  std::map<std::string, Waits> waits;
  std::map<std::string, int> links;
  PathFinding longest;
  int points = 0;
  for (const Series& series : group.series)
    for (const Cell& cell : series.cells)
      for (const Point* point : cell.used) {
        if (cell.status != Status::kOk) continue;
        ++points;
        const PathFinding finding = path_finding(point->critical_path);
        if (!finding.link.empty()) ++links[finding.link];
        if (finding.times > longest.times) longest = finding;
        if (finding.waited == 0) continue;
        Waits& those = waits[finding.whom];
        those.shares.push_back(finding.waited);
        if (finding.waited <= those.most) continue;
        those.most = finding.waited;
        those.where = series.label + " at " + format_rate(cell.rate);
      }
  const auto worst = std::max_element(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
    return a.second.shares.size() * a.second.most < b.second.shares.size() * b.second.most;
  });
  const auto slowest = std::max_element(
      links.begin(), links.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> clauses;
  if (worst != waits.end()) clauses.push_back(wait_clause(worst->first, worst->second));
  if (slowest != links.end())
    clauses.push_back("exchanges went at the pace of " + slowest->first +
                      (slowest->second == points
                           ? ""
                           : " in " + std::to_string(slowest->second) + " of " +
                                 std::to_string(points) + " points"));
  if (!longest.sender.empty())
    clauses.push_back(longest.sender + "'s payload was up to " + format_number(longest.times) +
                      " times the others'");
  if (clauses.empty()) return "";
  return "Critical path: " + joined(clauses, "; ") + ".";
}

}  // namespace thinpipe
