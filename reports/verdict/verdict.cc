// The sentences of the verdict.
#include "reports/verdict/verdict.h"

#include <algorithm>

#include "reports/text/lists.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

std::string times(const Estimate& speedup) {
  const std::string interval =
      speedup.interval ? format_interval(speedup, format_number) : "too few steps for an interval";
  return format_number(speedup.value) + " times as fast as none (" + interval + ")";
}

std::string tie_clause(const Outcome& outcome) {
  if (outcome.ties.empty()) return "";
  std::vector<std::string> names;
  for (const Series* series : outcome.ties) names.push_back(series->label);
  return ", not told apart from " + listed(names);
}

std::string clause(const Outcome& outcome) {
  const std::string at = "at " + format_rate(outcome.rate) + " ";
  switch (outcome.kind) {
    case Outcome::Kind::kNothing:
      return at + "no compressor was measured that can be trusted";
    case Outcome::Kind::kNoBaseline:
      return at + outcome.best->label + " is fastest with " +
             format_time(outcome.cell->step_time->value) + " a step" + tie_clause(outcome) +
             " (no trusted none to compare with)";
    case Outcome::Kind::kWins:
      return at + outcome.best->label + " wins, " + times(*outcome.cell->speedup) +
             tie_clause(outcome);
    case Outcome::Kind::kEven:
      return at + "none is as good as any: the fastest compressor, " + outcome.best->label +
             ", is " + times(*outcome.cell->speedup);
    case Outcome::Kind::kLoses:
      return at + "none wins: the fastest compressor, " + outcome.best->label + ", is only " +
             times(*outcome.cell->speedup);
  }
  return "";
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// Of many rates the sentence tells the lowest, the highest and those where the winner changes.
std::vector<Outcome> worth_telling(const Group& group) {
  constexpr std::size_t kAllTold = 4;
  std::vector<Outcome> all;
  for (const double rate : group.rates) all.push_back(outcome_at(group, rate));
  if (all.size() <= kAllTold) return all;
  std::vector<Outcome> told;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool changes = i == 0 || all[i].best != all[i - 1].best || all[i].kind != all[i - 1].kind;
    if (changes || i + 1 == all.size()) told.push_back(all[i]);
  }
  return told;
}

// " (nothing to be trusted at 1 Gbit/s)": a claim about every rate must name those it leaves out.
std::string untrusted_rates(const Group& group, const Series& series) {
  std::vector<std::string> rates;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || !cell->speedup) rates.push_back(format_rate(rate));
  }
  return rates.empty() ? "" : " (nothing to be trusted at " + listed(rates) + ")";
}

}  // namespace

std::string winners_sentence(const Group& group) {
  std::vector<std::string> clauses;
  for (const Outcome& outcome : worth_telling(group)) clauses.push_back(clause(outcome));
  return capitalized(joined(clauses, "; ")) + ".";
}

std::string break_even_sentence(const Group& group) {
  std::vector<std::string> stops, everywhere, nowhere, above;
  std::vector<const Series*> ordered;
  for (const Series& series : group.series) {
    if (!series.is_baseline()) ordered.push_back(&series);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Series* a, const Series* b) {
    return a->break_even.rate > b->break_even.rate;
  });
  for (const Series* series : ordered) {
    const BreakEven& even = series->break_even;
    const std::string at = series->label + " (" + format_rate(even.rate) + ")";
    if (even.kind == BreakEven::Kind::kPaysBelow) stops.push_back(at);
    if (even.kind == BreakEven::Kind::kPaysAbove) above.push_back(at);
    const std::string name = series->label + untrusted_rates(group, *series);
    if (even.kind == BreakEven::Kind::kPaysEverywhere) everywhere.push_back(name);
    if (even.kind == BreakEven::Kind::kPaysNowhere) nowhere.push_back(name);
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
  if (!nowhere.empty()) clauses.push_back("slower than none " + range + ": " + listed(nowhere));
  if (clauses.empty())
    return "Where compression stops paying cannot be told: no trusted step times of none and a "
           "compressor at one rate.";
  return capitalized(joined(clauses, "; ")) + ".";
}

std::string price_sentence(const Group& group) {
  for (const double rate : group.rates) {
    const Outcome outcome = outcome_at(group, rate);
    if (outcome.kind != Outcome::Kind::kWins) continue;
    const std::optional<double> payload = outcome.cell->median_of_metric("payload_bytes");
    const std::optional<double> dense = outcome.cell->median_of_metric("dense_bytes");
    const std::optional<double> error = outcome.cell->median_of_metric("relative_error");
    std::vector<std::string> facts;
    if (payload && dense && *dense > 0) {
      facts.push_back("sends " + format_percent(*payload / *dense) + " of the dense bytes");
    }
    if (error) {
      facts.push_back("its decoded gradient is off by " + format_percent(*error) +
                      " of the input's norm (median of the steps)");
    }
    if (facts.empty()) return "";
    return "What it costs: at " + format_rate(rate) + " " + outcome.best->label + " " +
           joined(facts, "; ") + "; speed alone does not say whether training still converges.";
  }
  return "";
}

std::vector<std::string> verdict(const Summary& summary) {
  std::vector<std::string> sentences;
  for (const Group& group : summary.groups) {
    const std::string prefix = summary.groups.size() > 1 ? "[" + group.title + "] " : "";
    sentences.push_back(prefix + winners_sentence(group));
    sentences.push_back(prefix + break_even_sentence(group));
    const std::string price = price_sentence(group);
    if (!price.empty()) sentences.push_back(prefix + price);
  }
  if (!summary.groups.empty()) sentences.push_back(trust_sentence(summary));
  return sentences;
}

std::vector<std::string> verdict(const Records& records) { return verdict(summarize(records)); }

}  // namespace thinpipe
