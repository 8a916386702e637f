// The fastest compressor at each rate and at equal error, and whether that is significant.
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

bool is_trusted(const Cell* cell) {
  return cell != nullptr && cell->status == Status::kOk && cell->step_time.has_value();
}

// Returns whether the interval of the ratio of both step times contains 1. Intervals of speed-ups
// would not do: both have the baseline's noise, so they may overlap although the two compressors
// clearly differ.
bool is_tie(const Cell& one, const Cell& other) {
  const auto interval = ratio_of_medians(one.bootstrapped, other.bootstrapped).interval;
  return interval && interval->holds(1);
}

Outcome::Kind kind_of(const Cell& cell) {
  if (!cell.speedup) return Outcome::Kind::kNoBaseline;
  if (cell.speedup->interval && cell.speedup->interval->holds(1)) return Outcome::Kind::kEven;
  return cell.speedup->value > 1 ? Outcome::Kind::kWins : Outcome::Kind::kLoses;
}

// Neighbouring rates with one outcome, which share a sentence.
using Run = std::vector<Outcome>;

std::vector<Run> runs_of(const Group& group) {
  // Up to four rates have a sentence each, with their own figures.
  constexpr std::size_t kToldSingly = 4;
  std::vector<Run> runs;
  for (const double rate : group.rates) {
    const Outcome outcome = outcome_at(group, rate);
    const bool joins = group.rates.size() > kToldSingly && !runs.empty() &&
                       runs.back().back().kind == outcome.kind &&
                       runs.back().back().best == outcome.best &&
                       group.baseline(runs.back().back().rate) == group.baseline(rate);
    if (!joins) runs.emplace_back();
    runs.back().push_back(outcome);
  }
  return runs;
}

// Returns the speed-ups at one rate, or at the first and the last rate of a run.
std::string times(const Run& run) {
  const std::string text = times_told(*run.front().cell);
  if (run.size() == 1) return text;
  return text + " at " + format_rate(run.front().rate) + "; " + times_told(*run.back().cell) +
         " at " + format_rate(run.back().rate);
}

// Returns a clause with k^/k (sent over requested elements) if it lies outside SIDCo's tolerance
// (epsilon 0.2: from 0.8 to 1.25), else "". A compressor that sends fewer elements than requested
// is faster for that reason alone. A compressor that sends more elements would be even faster with
// the requested number.
std::string target_missed(const Cell& cell) {
  const auto is_close = [](double times) { return times >= 0.8 && times <= 1.25; };
  const std::optional<double> mean = cell.mean_of_metric("quality"_metric);
  const std::optional<double> median = cell.median_of_metric("quality"_metric);
  if (!mean || !median || (is_close(*mean) && is_close(*median))) return "";
  return "it sends " + format_number(*mean) +
         "\xc3\x97 the requested number of elements (mean k\xcc\x82/k, median " +
         format_number(*median) + ")";
}

// Returns whether the exchange loses more than the ranks' own payloads do, in a place whose error
// is not in the records: sums of qgz, selections of sparse all-reduces, answers of servers.
bool loses_more_on_the_way(const Cell& cell) {
  if (cell.used.empty()) return false;
  const Axes& axes = cell.used.front()->axes;
  const auto has = [&](std::string_view part) {
    return axes.collective.find(part) != std::string::npos;
  };
  if (axes.collective.starts_with("pushpull-"))
    return !cell.median_of_metric("second_relative_error"_metric) && !axes.baseline() &&
           !has("pull=none") && !has("second=none");
  return has("-qgz") || axes.collective.starts_with("sparsereduce-");
}

// Returns an upper bound of the aggregate's relative error; nothing where it is not known.
std::optional<double> greatest_error(const Cell& cell) {
  const std::optional<double> error = cell.median_of_metric("relative_error"_metric);
  if (!error || loses_more_on_the_way(cell)) return std::nullopt;
  const double second = cell.median_of_metric("second_relative_error"_metric).value_or(0);
  return *error + second * (1 + *error);
}

// Returns a sentence with the payload and the error that a compressor has in return for its speed:
// " It sends 0.9 % of the bytes, and its decoded gradient has a relative error of 88 %."
std::string price(const Cell& cell) {
  std::vector<std::string> clauses;
  const std::optional<double> payload = cell.median_of_metric("payload_bytes"_metric);
  const std::optional<double> dense = cell.median_of_metric("dense_bytes"_metric);
  const std::optional<double> error = cell.median_of_metric("relative_error"_metric);
  if (payload && dense && *dense > 0)
    clauses.push_back("it sends " + format_percent(*payload / *dense) + " of the bytes");
  if (error)
    clauses.push_back("its decoded gradient has a relative error of " + format_percent(*error) +
                      (loses_more_on_the_way(cell) ? " before the exchange loses more" : ""));
  if (std::string missed = target_missed(cell); !missed.empty())
    clauses.push_back(std::move(missed));
  if (clauses.empty()) return "";
  if (clauses.size() > 1) clauses.back() = "and " + clauses.back();
  std::string text = joined(clauses, ", ");
  text[0] = 'I';  // "it" or "its"
  return " " + text + ".";
}

std::string tie_sentence(const Run& run) {
  std::vector<std::string> names;
  for (const Outcome& outcome : run) {
    const std::string at = run.size() > 1 ? " at " + format_rate(outcome.rate) : "";
    for (const Series* series : outcome.ties) names.push_back(series->label + at);
  }
  if (names.empty()) return "";
  return " " + listed(names) + (names.size() == 1 ? " is" : " are") +
         " statistically indistinguishable from it.";
}

// @param told  the series whose price has been stated; receives the one stated here
std::string sentences_on(const Group& group, const Run& run, std::set<const Series*>& told) {
  const Outcome& first = run.front();
  const std::string at =
      run.size() == 1 ? " at " + format_rate(first.rate)
                      : " from " + format_rate(first.rate) + " to " + format_rate(run.back().rate);
  const Series* baseline = group.baseline(first.rate);
  const std::string over = baseline == nullptr ? "" : baseline_words(baseline->label);
  const std::string cost =
      first.best != nullptr && told.insert(first.best).second ? price(*first.cell) : "";
  switch (first.kind) {
    case Outcome::Kind::kNothing:
      return "No compressor has a trusted step time" + at + ".";
    case Outcome::Kind::kNoBaseline:
      return first.best->label + " is fastest" + at + " with " +
             format_time(first.cell->step_time->value) + " a step" +
             (run.size() > 1 ? " at " + format_rate(first.rate) : "") +
             (baseline == nullptr ? "; there is no trusted baseline to compare with."
                                  : "; one of the baselines has no trusted time there.") +
             cost + tie_sentence(run);
    case Outcome::Kind::kWins:
      return first.best->label + " is fastest" + at + ": " + times(run) + "." + cost +
             tie_sentence(run);
    case Outcome::Kind::kEven:
      return first.best->label + ", the fastest compressor" + at +
             ", is statistically indistinguishable from " + over + ": " + times(run) + "." + cost;
    case Outcome::Kind::kLoses:
      return over + " is fastest" + at + ". The fastest compressor, " + first.best->label +
             ", has a speed-up of " + times(run) + "." + cost;
  }
  return "";
}

// Relative errors, from that of 16 bits to those of the sparsest methods.
constexpr std::array kErrors = {0.01, 0.1, 0.5, 0.9};

// Returns the fastest compressor or baseline whose relative error is at most `most_error`. Leaves
// out compressors that are not significantly faster than the faster baseline. Null where no error
// is known, and leaves out collectives that add to it.
const Series* fastest_within(const Group& group, double rate, double most_error) {
  const Series* best = nullptr;
  for (const Series& series : group.series) {
    const Cell* cell = series.at(rate);
    if (!is_trusted(cell)) continue;
    const std::optional<double> error = greatest_error(*cell);
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
    if (is_tie(*cell, *outcome.cell)) outcome.ties.push_back(&series);
  }
  return outcome;
}

std::string winners_sentence(const Group& group) {
  std::vector<std::string> sentences;
  std::set<const Series*> told;
  for (const Run& run : runs_of(group)) sentences.push_back(sentences_on(group, run, told));
  return joined(sentences, " ");
}

std::string outcome_sentence(const Group& group, double rate) {
  const Outcome outcome = outcome_at(group, rate);
  std::set<const Series*> told = {outcome.best};  // leaves out payload and errors
  return sentences_on(group, Run{outcome}, told);
}

std::string equal_error_sentence(const Group& group) {
  std::vector<std::string> clauses;
  std::string last;
  for (const double error : kErrors) {
    const std::string fastest = fastest_by_rate(group, error);
    if (fastest.empty() || fastest == last) continue;  // the larger error brings no speed
    clauses.push_back((clauses.empty() ? "" : "of at most ") + format_percent(error) + ": " +
                      fastest);
    last = fastest;
  }
  if (clauses.empty()) return "";
  return "Fastest with a relative error of at most " + joined(clauses, "; ") + ".";
}

}  // namespace thinpipe
