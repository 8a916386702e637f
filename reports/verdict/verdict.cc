// The sentences of the verdict: break-even rates, warnings and the links' calibration.
#include "reports/verdict/verdict.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

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

}  // namespace

std::string break_even_sentence(const Group& group) {
  using Kind = BreakEven::Kind;
  std::map<Kind, std::vector<std::string>> by_kind;
  std::vector<std::string> over_none, predicted;
  std::vector<const Series*> ordered;
  for (const Series& series : group.series)
    if (!series.is_baseline()) ordered.push_back(&series);
  std::ranges::stable_sort(ordered, std::greater(),
                           [](const Series* series) { return series->break_even.rate; });
  for (const Series* series : ordered) {
    const BreakEven& even = series->break_even;
    const std::string several = even.crossings > 1 ? ", the highest of several" : "";
    // A sentence about every rate must name the rates that it leaves out.
    const std::string detail = even.kind == Kind::kPaysBelow || even.kind == Kind::kPaysAbove
                                   ? format_rate(even.rate) + several
                               : even.kind == Kind::kOpen ? rates_told(*series)
                                                          : untrusted_rates(group, *series);
    by_kind[even.kind].push_back(series->label + (detail.empty() ? "" : " (" + detail + ")"));
    if (const std::string told = over_none_text(group, *series); !told.empty())
      over_none.push_back(series->label + " " + told);
    if (const std::string told = predicted_break_even(*series); !told.empty())
      predicted.push_back(series->label + " " + told);
  }
  const std::string from = format_rate(group.rates.front());
  const std::string to = format_rate(group.rates.back());
  const std::string range =
      group.rates.size() == 1 ? "at " + from : "at every measured rate from " + from + " to " + to;
  const std::string baseline = baseline_words(group.baseline_name());
  const std::string faster = "Faster than " + baseline + " ";
  std::vector<std::string> sentences;
  const auto add = [&](Kind kind, const std::string& begin) {
    if (by_kind.contains(kind)) sentences.push_back(begin + ": " + listed(by_kind[kind]));
  };
  add(Kind::kPaysBelow, faster + "below a break-even rate");
  add(Kind::kPaysAbove, faster + "above a break-even rate");
  add(Kind::kPaysEverywhere, faster + range);
  add(Kind::kPaysNowhere, "Slower than " + baseline + " " + range);
  add(Kind::kOpen, "Statistically indistinguishable from " + baseline + " at some rates");
  if (sentences.empty())
    return "No break-even rate: no link rate has trusted step times of both a baseline and a "
           "compressor.";
  if (!over_none.empty())
    sentences.push_back("Rates with a speed-up over fp32 alone: " + listed(over_none));
  if (!predicted.empty())
    sentences.push_back("Predicted rates with a speed-up over the baseline: " + listed(predicted));
  return joined(sentences, ". ") + ".";
}

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

}  // namespace thinpipe
