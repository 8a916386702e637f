// The hosts that steps waited for, from the critical paths in records.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Fraction of the steps' time. Ranks of one machine with equal work differ by less.
constexpr double kToldWait = 0.05;
// Ratio of the busiest link's busy time to that of the other links; from this ratio on, the link is
// reported. Links with equal loads may differ too, as the ends of a ring send less, but by a
// smaller ratio.
constexpr double kToldBusier = 1.2;
// Ratio of payloads. Selections with one target number of elements differ by less.
constexpr double kToldLonger = 1.2;
// Fraction of the steps' time. Below it, a faster link would not change much.
constexpr double kToldExchange = 0.2;

double number_or_0(const json& object, const char* key) {
  return number_in(object, key).value_or(0);
}

std::string host_words(const json& object) {
  constexpr double kMaxHost = 1e9;  // of any record
  return "host " +
         std::to_string(std::lround(std::clamp(number_or_0(object, "host"), 0.0, kMaxHost)));
}

const json& list(const json& object, const char* key) {
  static const json nothing = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : nothing;
}

std::string link_words(const std::string& name) {
  if (name.starts_with("host") && name.find('-') == std::string::npos)
    return "host " + name.substr(4) + "'s link";
  return "the link " + name;
}

// Waits of several points for one host's phase.
struct Waits {
  std::vector<double> shares;  // fractions of the steps' time, by point
  double most = 0;
  std::string where;  // the point with the longest wait: "topk at 1 Gbit/s"
};

std::string wait_clause(const std::string& whom, const Waits& waits) {
  const std::string most = format_percent(waits.most) + " of their time for " + whom;
  if (waits.shares.size() == 1) return "steps of " + waits.where + " waited " + most;
  return "steps waited up to " + most + " (" + waits.where + "; median of " +
         std::to_string(waits.shares.size()) + " points " + format_percent(median(waits.shares)) +
         ")";
}

}  // namespace

PathFinding path_finding(const json& record) {
  PathFinding finding;
  for (const json& wait : list(record, "waits")) {
    const std::string phase = text_in(wait, "phase");
    const double share = number_or_0(wait, "share");
    if (phase.empty() || phase == "start" || phase == "other") continue;
    if (share < kToldWait || share <= finding.waited || share > 1) continue;
    finding.waited = share;
    finding.whom = host_words(wait) + "'s " + phase;
  }
  for (const json& piece : list(record, "pieces"))
    if (text_in(piece, "phase") == "exchange") finding.exchange += number_or_0(piece, "share");
  if (finding.exchange < kToldExchange) return finding;
  if (const auto link = record.find("link"); link != record.end()) {
    const std::string name = text_in(*link, "name");
    if (!name.empty() && number_or_0(*link, "busy") >= kToldBusier * number_or_0(*link, "others"))
      finding.link = link_words(name);
  }
  if (const auto payload = record.find("payload"); payload != record.end())
    if (const double times = number_or_0(*payload, "times"); times >= kToldLonger) {
      finding.sender = host_words(*payload);
      finding.times = times;
    }
  return finding;
}

std::map<int, double> waited_by_host(const nlohmann::json& record) {
  constexpr double kMaxHosts = 1 << 20;
  std::map<int, double> waits;
  for (const json& wait : list(record, "waits")) {
    if (text_in(wait, "phase") == "start") continue;
    const double host = number_or_0(wait, "host"), share = number_or_0(wait, "share");
    if (host < 0 || host > kMaxHosts || share <= 0 || share > 1) continue;
    waits[static_cast<int>(host)] += share;
  }
  return waits;
}

std::string path_phrase(const PathFinding& finding) {
  std::vector<std::string> parts;
  if (finding.waited > 0)
    parts.push_back(format_percent(finding.waited) + " of it waiting for " + finding.whom);
  if (!finding.link.empty()) parts.push_back("exchanges paced by " + finding.link);
  if (!finding.sender.empty())
    parts.push_back(finding.sender + "'s payload " + format_number(finding.times) +
                    " times the others'");
  return joined(parts, ", ");
}

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
  const auto worst = std::ranges::max_element(waits, {}, [](const auto& wait) {
    return static_cast<double>(wait.second.shares.size()) * wait.second.most;
  });
  const auto slowest =
      std::ranges::max_element(links, {}, [](const auto& link) { return link.second; });
  std::vector<std::string> clauses;
  if (worst != waits.end()) clauses.push_back(wait_clause(worst->first, worst->second));
  if (slowest != links.end())
    clauses.push_back("exchanges were paced by " + slowest->first +
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
