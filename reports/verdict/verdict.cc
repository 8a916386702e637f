// The sentences of the verdict.
#include "reports/verdict/verdict.h"

#include <algorithm>
#include <cctype>

#include "reports/text/lists.h"
#include "reports/text/units.h"

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

}  // namespace thinpipe
