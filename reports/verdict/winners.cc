// The sentence on who wins at which rate.
#include <algorithm>
#include <cctype>
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

std::string interval_text(const Estimate& speedup) {
  return speedup.interval ? format_interval(speedup, format_number)
                          : "too few steps for an interval";
}

// "6.8 times as fast as none (6.5 to 7.1)"; of a run that at its first and its last rate.
std::string times(const Run& run) {
  const Estimate& first = *run.front().cell->speedup;
  const std::string text =
      format_number(first.value) + " times as fast as none (" + interval_text(first);
  if (run.size() == 1) return text + ")";
  const Estimate& last = *run.back().cell->speedup;
  return text + ") at " + format_rate(run.front().rate) + " and " + format_number(last.value) +
         " times (" + interval_text(last) + ") at " + format_rate(run.back().rate);
}

std::string tie_clause(const Run& run) {
  std::vector<std::string> names;
  for (const Outcome& outcome : run) {
    const std::string at = run.size() > 1 ? " at " + format_rate(outcome.rate) : "";
    for (const Series* series : outcome.ties) names.push_back(series->label + at);
  }
  return names.empty() ? "" : ", not told apart from " + listed(names);
}

std::string clause(const Run& run) {
  const Outcome& first = run.front();
  const std::string at = run.size() == 1 ? "at " + format_rate(first.rate) + " "
                                         : "from " + format_rate(first.rate) + " to " +
                                               format_rate(run.back().rate) + " ";
  switch (first.kind) {
    case Outcome::Kind::kNothing:
      return at + "no compressor was measured that can be trusted";
    case Outcome::Kind::kNoBaseline:
      return at + first.best->label + " is fastest with " +
             format_time(first.cell->step_time->value) + " a step" +
             (run.size() > 1 ? " at first" : "") + tie_clause(run) +
             " (no trusted none to compare with)";
    case Outcome::Kind::kWins:
      return at + first.best->label + " wins, " + times(run) + tie_clause(run);
    case Outcome::Kind::kEven:
      return at + "none is as good as any: the fastest compressor, " + first.best->label + ", is " +
             times(run);
    case Outcome::Kind::kLoses:
      return at + "none wins: the fastest compressor, " + first.best->label + ", is only " +
             times(run);
  }
  return "";
}

// Who sends less than it was asked for is fast for that alone, who sends more is faster than it
// looks: of those named, how many times the elements, where that is beyond SIDCo's tolerance
// (epsilon 0.2: from 0.8 to 1.25 times).
std::vector<std::string> targets_missed(const Group& group) {
  std::vector<const Series*> told;
  std::vector<std::string> clauses;
  for (const double rate : group.rates) {
    const Outcome outcome = outcome_at(group, rate);
    if (outcome.best == nullptr || std::ranges::count(told, outcome.best) > 0) continue;
    told.push_back(outcome.best);
    const std::optional<double> sent = outcome.cell->mean_of_metric("quality");
    if (!sent || (*sent >= 0.8 && *sent <= 1.25)) continue;
    clauses.push_back(outcome.best->label + " sends " + format_number(*sent) +
                      " times the elements that it is asked for");
  }
  return clauses;
}

}  // namespace

std::string winners_sentence(const Group& group) {
  std::vector<std::string> clauses;
  for (const Run& run : runs_of(group)) clauses.push_back(clause(run));
  for (std::string& missed : targets_missed(group)) clauses.push_back(std::move(missed));
  std::string sentence = joined(clauses, "; ") + ".";
  sentence[0] = static_cast<char>(std::toupper(sentence[0]));  // "at" or "from"
  return sentence;
}

}  // namespace thinpipe
