// The fastest at each rate and at equal error, and whether the figures can tell.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

bool is_trusted(const Cell* cell) {
  return cell != nullptr && cell->status == Status::kOk && cell->step_time.has_value();
}

const Estimate& comparable(const Cell& cell) {
  return cell.speedup ? *cell.speedup : *cell.step_time;
}

bool overlaps(const Estimate& a, const Estimate& b) {
  return a.interval && b.interval && a.interval->low <= b.interval->high &&
         b.interval->low <= a.interval->high;
}

Outcome::Kind kind_of(const Cell& cell) {
  if (!cell.speedup) return Outcome::Kind::kNoBaseline;
  if (cell.speedup->interval && cell.speedup->interval->holds(1)) return Outcome::Kind::kEven;
  return cell.speedup->value > 1 ? Outcome::Kind::kWins : Outcome::Kind::kLoses;
}

// Neighbouring rates with one outcome, told together.
using Run = std::vector<Outcome>;

std::vector<Run> runs_of(const Group& group) {
  // So few rates are told one by one, each with its own figure.
  constexpr std::size_t kToldSingly = 4;
  std::vector<Run> runs;
  for (const double rate : group.rates) {
    const Outcome outcome = outcome_at(group, rate);
    const bool joins = group.rates.size() > kToldSingly && !runs.empty() &&
                       runs.back().back().kind == outcome.kind &&
                       runs.back().back().best == outcome.best;
    if (joins) {
      runs.back().push_back(outcome);
    } else {
      runs.push_back({outcome});
    }
  }
  return runs;
}

// Speed-ups at one rate, or at the first and the last one of a run.
std::string times(const Run& run) {
  const std::string text = times_told(*run.front().cell);
  if (run.size() == 1) return text;
  return text + " at " + format_rate(run.front().rate) + ", " + times_told(*run.back().cell) +
         " at " + format_rate(run.back().rate);
}

// How many times the elements that it is asked for, where that is beyond SIDCo's tolerance
// (epsilon 0.2: from 0.8 to 1.25 times): who sends less is fast for that alone, who sends more is
// faster than it looks.
std::string target_missed(const Cell& cell) {
  const auto is_close = [](double times) { return times >= 0.8 && times <= 1.25; };
  const std::optional<double> mean = cell.mean_of_metric("quality"_metric);
  const std::optional<double> median = cell.median_of_metric("quality"_metric);
  if (!mean || !median || (is_close(*mean) && is_close(*median))) return "";
  return "selecting " + format_number(*mean) + " times the elements that it is asked for (median " +
         format_number(*median) + ")";
}

// The price of speed: ", sending 0.9 % of the bytes, its decoded gradient off by 88 %".
std::string price(const Cell& cell) {
  std::string text;
  const std::optional<double> payload = cell.median_of_metric("payload_bytes"_metric);
  const std::optional<double> dense = cell.median_of_metric("dense_bytes"_metric);
  const std::optional<double> error = cell.median_of_metric("relative_error"_metric);
  if (payload && dense && *dense > 0)
    text += ", sending " + format_percent(*payload / *dense) + " of the bytes";
  if (error) text += ", its decoded gradient off by " + format_percent(*error);
  if (const std::string missed = target_missed(cell); !missed.empty()) text += ", " + missed;
  return text;
}

std::string tie_clause(const Run& run) {
  std::vector<std::string> names;
  for (const Outcome& outcome : run) {
    const std::string at = run.size() > 1 ? " at " + format_rate(outcome.rate) : "";
    for (const Series* series : outcome.ties) names.push_back(series->label + at);
  }
  return names.empty() ? "" : ", not told apart from " + listed(names);
}

// @param told  those whose price has been named, which this adds to
std::string clause(const Group& group, const Run& run, std::set<const Series*>& told) {
  const Outcome& first = run.front();
  const std::string at = run.size() == 1 ? "at " + format_rate(first.rate) + " "
                                         : "from " + format_rate(first.rate) + " to " +
                                               format_rate(run.back().rate) + " ";
  const Series* baseline = group.baseline(first.rate);
  const std::string over = baseline == nullptr ? "" : baseline->label;
  const std::string cost =
      first.best != nullptr && told.insert(first.best).second ? price(*first.cell) : "";
  switch (first.kind) {
    case Outcome::Kind::kNothing:
      return at + "no compressor was measured that can be trusted";
    case Outcome::Kind::kNoBaseline:
      return at + first.best->label + " is fastest with " +
             format_time(first.cell->step_time->value) + " a step" +
             (run.size() > 1 ? " at first" : "") + cost + tie_clause(run) +
             " (no trusted baseline to compare with)";
    case Outcome::Kind::kWins:
      return at + first.best->label + " wins, " + times(run) + cost + tie_clause(run);
    case Outcome::Kind::kEven:
      return at + over + " is as good as any: the fastest compressor, " + first.best->label +
             ", is " + times(run) + cost;
    case Outcome::Kind::kLoses:
      return at + over + " wins: the fastest compressor, " + first.best->label + ", is only " +
             times(run) + cost;
  }
  return "";
}

// From what 16 bits lose to what the sparsest methods do.
constexpr std::array kErrors = {0.01, 0.1, 0.5, 0.9};

// The fastest whose error is no larger; a compressor that no interval tells from the faster
// baseline stands back. Null where nothing is known.
const Series* fastest_within(const Group& group, double rate, double most_error) {
  const Series* best = nullptr;
  for (const Series& series : group.series) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || cell->status != Status::kOk || !cell->step_time) continue;
    const std::optional<double> error = cell->median_of_metric("relative_error"_metric);
    if (!error || *error > most_error) continue;
    if (!series.is_baseline() && cell->speedup && pays(*cell->speedup) != Pays::kYes) continue;
    if (best == nullptr || cell->step_time->value < best->at(rate)->step_time->value)
      best = &series;
  }
  return best;
}

// "int8 at 10 Mbit/s and 100 Mbit/s, bf16 at 1 Gbit/s"
std::string fastest_by_rate(const Group& group, double most_error) {
  struct Named {
    const Series* series;
    std::vector<std::string> rates;
  };
  std::vector<Named> all;
  for (const double rate : group.rates) {
    const Series* best = fastest_within(group, rate, most_error);
    if (best == nullptr) continue;
    auto named = std::ranges::find(all, best, &Named::series);
    if (named == all.end()) named = all.insert(all.end(), {best, {}});
    named->rates.push_back(format_rate(rate));
  }
  std::vector<std::string> parts;
  for (const Named& one : all)
    parts.push_back(one.series->label +
                    (one.rates.size() == group.rates.size() && group.rates.size() > 1
                         ? " at every rate"
                         : " at " + listed(one.rates)));
  return joined(parts, ", ");
}

}  // namespace

Outcome outcome_at(const Group& group, double rate) {
  Outcome outcome;
  outcome.rate = rate;
  for (const Series& series : group.series) {
    const Cell* cell = series.at(rate);
    if (series.is_baseline() || !is_trusted(cell)) continue;
    if (outcome.cell == nullptr || cell->step_time->value < outcome.cell->step_time->value) {
      outcome.best = &series;
      outcome.cell = cell;
    }
  }
  if (outcome.cell == nullptr) return outcome;
  outcome.kind = kind_of(*outcome.cell);
  for (const Series& series : group.series) {
    const Cell* cell = series.at(rate);
    if (series.is_baseline() || &series == outcome.best || !is_trusted(cell)) continue;
    if (overlaps(comparable(*cell), comparable(*outcome.cell))) outcome.ties.push_back(&series);
  }
  return outcome;
}

std::string winners_sentence(const Group& group) {
  std::vector<std::string> clauses;
  std::set<const Series*> told;
  for (const Run& run : runs_of(group)) clauses.push_back(clause(group, run, told));
  std::string sentence = joined(clauses, "; ") + ".";
  sentence[0] = static_cast<char>(std::toupper(sentence[0]));  // "at" or "from"
  return sentence;
}

std::string equal_error_sentence(const Group& group) {
  std::vector<std::string> clauses;
  std::string last;
  for (const double error : kErrors) {
    const std::string fastest = fastest_by_rate(group, error);
    if (fastest.empty() || fastest == last) continue;  // the larger error buys no speed
    clauses.push_back((clauses.empty() ? "off by at most " : "by at most ") +
                      format_percent(error) + ", " + fastest);
    last = fastest;
  }
  if (clauses.empty()) return "";
  return "Fastest at equal error, with a decoded gradient " + joined(clauses, "; ") + ".";
}

}  // namespace thinpipe
