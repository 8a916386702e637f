// The sentence on who wins at which rate.
#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

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
  const std::optional<double> mean = cell.mean_of_metric("quality");
  const std::optional<double> median = cell.median_of_metric("quality");
  if (!mean || !median || (is_close(*mean) && is_close(*median))) return "";
  return "selecting " + format_number(*mean) + " times the elements that it is asked for (median " +
         format_number(*median) + ")";
}

// The price of speed: ", sending 0.9 % of the bytes, its decoded gradient off by 88 %".
std::string price(const Cell& cell) {
  std::string text;
  const std::optional<double> payload = cell.median_of_metric("payload_bytes");
  const std::optional<double> dense = cell.median_of_metric("dense_bytes");
  const std::optional<double> error = cell.median_of_metric("relative_error");
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

}  // namespace

std::string winners_sentence(const Group& group) {
  std::vector<std::string> clauses;
  std::set<const Series*> told;
  for (const Run& run : runs_of(group)) clauses.push_back(clause(group, run, told));
  std::string sentence = joined(clauses, "; ") + ".";
  sentence[0] = static_cast<char>(std::toupper(sentence[0]));  // "at" or "from"
  return sentence;
}

}  // namespace thinpipe
