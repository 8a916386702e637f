// The sentences of the verdict: warnings, the links' calibration, and the hosts that steps waited
// for, from the critical paths in records.
#include "reports/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

// Repeats that differ by more make a figure of little use, however small its steps' spread.
constexpr double kLargeSpread = 0.1;

std::string first_reason(const Records& records, Status status) {
  for (const Point& point : records.points)
    if (point.status == status && !point.reasons.empty())
      return "; first reason: " + point.reasons[0];
  return "";
}

using Warning = bool (*)(const Cell&);

// Returns the cells that a warning applies to: "sbc at 1 Gbit/s and dgc at 1 Gbit/s".
std::string names_of(const Summary& summary, Warning applies) {
  std::vector<std::string> names;
  for (const Group& group : summary.groups) {
    const std::string suffix = summary.groups.size() > 1 ? " with " + group.title : "";
    for (const Series& series : group.series)
      for (const Cell& cell : series.cells)
        if (applies(cell)) names.push_back(series.label + " at " + format_rate(cell.rate) + suffix);
  }
  return listed(names);
}

std::size_t count_points(const Records& records, Status status) {
  return static_cast<std::size_t>(std::ranges::count(records.points, status, &Point::status));
}

bool replays_one_trace(const Records& records) {
  std::set<std::string> traces;
  for (const Header& header : records.headers) traces.insert(header.trace.text("identity"));
  return traces.size() <= 1;
}

std::vector<std::string> warnings(const Summary& summary) {
  const Records& records = *summary.records;
  const std::string of_all = " of " + counted(records.points.size(), "point");
  const bool is_job = records.kind() == kJobKind;
  std::vector<std::string> result;
  if (const std::size_t count = count_points(records, Status::kInvalid); count > 0)
    result.push_back(std::to_string(count) + of_all +
                     " failed a check, so no conclusion rests on " +
                     (count == 1 ? "it (" : "them (") +
                     names_of(summary, [](const Cell& cell) { return cell.invalid > 0; }) +
                     first_reason(records, Status::kInvalid) + ").");
  if (const std::size_t count = count_points(records, Status::kFailed); count > 0)
    result.push_back(std::to_string(count) + of_all + " could not be measured (" +
                     names_of(summary, [](const Cell& cell) { return cell.failed > 0; }) +
                     first_reason(records, Status::kFailed) +
                     (is_job ? ")." : "); `--resume` measures failed points again."));
  const std::string spread = names_of(summary, [](const Cell& cell) {
    return cell.status == Status::kOk && cell.repeat_spread.value_or(0) > kLargeSpread;
  });
  if (!spread.empty())
    result.push_back("Repeats of " + spread +
                     " differ by more than 10 % from their common median; measure again on an idle "
                     "machine.");
  const std::string bare = names_of(summary, [](const Cell& cell) {
    return cell.status == Status::kOk && cell.step_time && !cell.step_time->interval;
  });
  if (!bare.empty())
    result.push_back("Fewer than 6 steps give no 95 % CI for " + bare +
                     (is_job ? "." : "; measure more of them (`--steps`)."));
  if (!replays_one_trace(records))
    result.push_back("The launches replayed different traces, so their times are not comparable.");
  return result;
}

// Returns whether no aggregate was compared with an expected one: by `--check-every 0`, or as there
// is no reference.
bool is_without_checked_aggregates(const Point& point) {
  const std::optional<double> checked = point.validation.number("checked_steps");
  return (checked && *checked == 0) || point.validation.text("reference") == "none";
}

// Returns each link on each number of machines once, as the last launch calibrated it.
std::vector<CalibratedLinkRecord> last_of_each(const Records& records) {
  std::vector<CalibratedLinkRecord> links = calibrated_links(records);
  std::set<std::tuple<std::string, double, std::size_t>> seen;
  std::vector<CalibratedLinkRecord> last;
  for (auto link = links.rbegin(); link != links.rend(); ++link)
    if (seen.insert({link->link, link->machines, link->ways.size()}).second)
      last.push_back(std::move(*link));
  std::reverse(last.begin(), last.end());
  return last;
}

// Returns how many links passed calibration, and which did not; "" where none was calibrated.
std::string calibration_sentence(const Summary& summary) {
  double least = 0, most = 0;
  std::size_t held = 0;
  std::vector<std::string> off, unknown;
  for (const CalibratedLinkRecord& link : last_of_each(*summary.records)) {
    const CalibratedWay* farthest = link.farthest();
    if (link.held() && farthest != nullptr) {
      for (const CalibratedWay& way : link.ways) {
        least = held == 0 && &way == &link.ways.front() ? way.ratio : std::min(least, way.ratio);
        most = std::max(most, way.ratio);
      }
      ++held;
    } else if (link.verdict == "off" && farthest != nullptr) {
      off.push_back(link.link + " (" + farthest->where + ": " + format_percent(farthest->ratio) +
                    ")");
    } else if (link.verdict == "broken") {
      off.push_back(link.link + " (no data arrived)");
    } else {
      unknown.push_back(link.link);
    }
  }
  const std::size_t all = held + off.size() + unknown.size();
  std::vector<std::string> sentences;
  if (held > 0) {
    const std::string low = format_percent(least), high = format_percent(most);
    const std::string who = held < all ? std::to_string(held) + " of " + counted(all, "link")
                            : all == 1 ? std::string("The link")
                                       : "All " + counted(all, "link");
    sentences.push_back(who + " passed calibration (" + low + (low == high ? "" : " to " + high) +
                        " of the TCP ceiling).");
  }
  if (!off.empty())
    sentences.push_back(std::to_string(off.size()) + " of " + counted(all, "link") +
                        " failed calibration: " + listed(off) + ".");
  if (!unknown.empty()) sentences.push_back("Not judged: " + listed(unknown) + ".");
  return joined(sentences, " ");
}

// Critical paths.

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

std::vector<std::string> group_verdict(const Group& group) {
  std::vector<std::string> sentences = {winners_sentence(group), equal_error_sentence(group),
                                        break_even_sentence(group), critical_path_sentence(group)};
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> verdict(const Summary& summary) {
  std::vector<std::string> sentences;
  for (const Group& group : summary.groups) {
    const std::string prefix = summary.groups.size() > 1 ? "[" + group.title + "] " : "";
    for (const std::string& sentence : group_verdict(group)) sentences.push_back(prefix + sentence);
  }
  if (!summary.groups.empty()) sentences.push_back(trust_sentence(summary));
  return sentences;
}

std::vector<std::string> verdict(const Records& records) { return verdict(summarize(records)); }

std::string trust_sentence(const Summary& summary) {
  const std::vector<std::string> all = warnings(summary);
  const std::size_t total = summary.records->points.size();
  std::string links = calibration_sentence(summary);
  if (!links.empty()) links = " " + links;
  const auto simulated = [](const Point& point) { return point.axes.engine == kSimGridEngine; };
  if (all.empty() && std::ranges::any_of(summary.records->points, simulated))
    return (total == 1 ? "The point was" : "All " + counted(total, "point") + " were") +
           std::string(" simulated: no payloads crossed links, and no aggregates were checked.");
  if (all.empty()) {
    const auto unchecked = static_cast<std::size_t>(
        std::ranges::count_if(summary.records->points, is_without_checked_aggregates));
    const bool checks = summary.records->kind() != kJobKind && unchecked < total;
    std::string text =
        (total == 1 ? "The point passed its" : "All " + counted(total, "point") + " passed their") +
        (checks && unchecked == 0 ? " link, clock and aggregate checks."
                                  : " link and clock checks.");
    if (unchecked > 0)
      text += (total == 1 ? " Its aggregates were"
                          : " The aggregates of " + counted(unchecked, "point") + " were") +
              std::string(" not checked.");
    return text + links;
  }
  return "Warnings: " + joined(all, " ") + links;
}

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
