// The sentences of the verdict: where compression stops paying, and what cannot be trusted.
#include "reports/verdict/verdict.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

// " (nothing to be trusted at 1 Gbit/s)": a claim about every rate must name those it leaves out.
std::string untrusted_rates(const Group& group, const Series& series) {
  std::vector<std::string> rates;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || !cell->speedup) rates.push_back(format_rate(rate));
  }
  return rates.empty() ? "" : " (nothing to be trusted at " + listed(rates) + ")";
}

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
    traces.insert(header.trace.text("identity"));
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

// The last launch that calibrated a link counts.
std::vector<CalibratedLinkRecord> last_of_each(const Records& records) {
  std::vector<CalibratedLinkRecord> links = calibrated_links(records);
  std::set<std::string> seen;
  std::vector<CalibratedLinkRecord> last;
  for (auto link = links.rbegin(); link != links.rend(); ++link)
    if (seen.insert(link->link + " " + std::to_string(link->ways.size())).second)
      last.push_back(std::move(*link));
  std::reverse(last.begin(), last.end());
  return last;
}

std::string count_of(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " link" : " links");
}

// How many links delivered what they were set to, and which did not; "" when nobody looked.
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
      off.push_back(link.link + " (nothing came through)");
    } else {
      unknown.push_back(link.link);
    }
  }
  std::vector<std::string> clauses;
  if (held > 0) {
    const std::string low = format_percent(least), high = format_percent(most);
    clauses.push_back(count_of(held) + " held, at " + low + (low == high ? "" : " to " + high) +
                      " of what TCP can deliver");
  }
  if (!off.empty()) clauses.push_back(count_of(off.size()) + " did not: " + listed(off));
  if (!unknown.empty()) clauses.push_back("not judged: " + listed(unknown));
  return clauses.empty() ? "" : "Before they were used, " + joined(clauses, "; ") + ".";
}

}  // namespace

std::string break_even_sentence(const Group& group) {
  std::vector<std::string> stops, everywhere, nowhere, above, open, over_none, predicted;
  std::vector<const Series*> ordered;
  for (const Series& series : group.series) {
    if (!series.is_baseline()) ordered.push_back(&series);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Series* a, const Series* b) {
    return a->break_even.rate > b->break_even.rate;
  });
  for (const Series* series : ordered) {
    const BreakEven& even = series->break_even;
    const std::string several = even.crossings > 1 ? ", the highest of several" : "";
    const std::string at = series->label + " (" + format_rate(even.rate) + several + ")";
    if (even.kind == BreakEven::Kind::kPaysBelow) stops.push_back(at);
    if (even.kind == BreakEven::Kind::kPaysAbove) above.push_back(at);
    const std::string name = series->label + untrusted_rates(group, *series);
    if (even.kind == BreakEven::Kind::kPaysEverywhere) everywhere.push_back(name);
    if (even.kind == BreakEven::Kind::kPaysNowhere) nowhere.push_back(name);
    if (even.kind == BreakEven::Kind::kOpen)
      open.push_back(series->label + " (" + rates_told(*series) + ")");
    if (const std::string told = over_none_text(group, *series); !told.empty())
      over_none.push_back(series->label + " " + told);
    if (const std::string told = predicted_break_even(*series); !told.empty())
      predicted.push_back(series->label + " " + told);
  }
  const std::string from = format_rate(group.rates.front());
  const std::string to = format_rate(group.rates.back());
  const std::string range =
      group.rates.size() == 1 ? "at " + from : "at every measured rate from " + from + " to " + to;
  std::vector<std::string> clauses;
  if (!stops.empty())
    clauses.push_back("compression stops paying above these link rates: " + listed(stops));
  if (!above.empty()) clauses.push_back("paying only above: " + listed(above));
  if (!everywhere.empty()) clauses.push_back("paying " + range + ": " + listed(everywhere));
  const std::string baseline = group.baseline_name();
  if (!nowhere.empty())
    clauses.push_back("slower than " + baseline + " " + range + ": " + listed(nowhere));
  if (!open.empty())
    clauses.push_back("not told apart from " + baseline + " somewhere: " + listed(open));
  if (clauses.empty())
    return "Where compression stops paying cannot be told: no trusted step times of a baseline and "
           "a compressor at one rate.";
  if (!over_none.empty()) clauses.push_back("over none alone: " + listed(over_none));
  std::string sentence = joined(clauses, "; ") + ".";
  sentence[0] =
      static_cast<char>(std::toupper(sentence[0]));  // the clauses begin with words of ours
  if (!predicted.empty()) sentence += " Predicted to pay: " + listed(predicted) + ".";
  return sentence;
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
