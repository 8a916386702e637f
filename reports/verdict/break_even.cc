// Rates at which a compressor is faster than the baseline, slower, or indistinguishable from it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// "fp32" for `none`; other baselines keep their label.
std::string over_words(const std::string& label) { return label == "none" ? "fp32" : label; }

// "at 10 Mbit/s and 100 Mbit/s"; a single rate comes with its speed-up.
std::string at_those(const Series& series, Pays wanted) {
  std::vector<std::string> rates;
  const Cell* last = nullptr;
  for (const Cell& cell : series.cells)
    if (cell.speedup && pays(*cell.speedup) == wanted) {
      rates.push_back(format_rate(cell.rate));
      last = &cell;
    }
  if (rates.empty()) return "";
  std::string text = "at " + listed(rates);
  if (rates.size() == 1 && last != nullptr)
    text += ": " + format_number(last->speedup->value) + "\xc3\x97 over " + over_words(last->over) +
            " (" + format_interval(*last->speedup, format_number) + ")";
  return text;
}

// Returns the models' prediction for the point; null without one.
const nlohmann::json* break_even_of(const Point& point) {
  const auto found = point.prediction->find("break_even");
  return found == point.prediction->end() || !found->is_object() ? nullptr : &*found;
}

// "212 to 218 Mbit/s": the unit stands once where both ends have it.
std::string open_interval(const BreakEven& even) {
  if (!even.low && !even.high) return "no interval";
  std::string low = rate_or_open(even.low);
  const std::string high = rate_or_open(even.high);
  const std::string unit = high.substr(std::min(high.find(' '), high.size()));
  if (!unit.empty() && low.ends_with(unit)) low.erase(low.size() - unit.size());
  return low + " to " + high;
}

// Returns the rates at which the compressor was compared with a baseline.
std::vector<double> trusted_rates(const Series& series) {
  std::vector<double> rates;
  for (const Cell& cell : series.cells)
    if (cell.speedup) rates.push_back(cell.rate);
  return rates;
}

// Returns the rest of the sentence after the compressor's name, such as " is never faster". The
// sentences must fit a terminal of 80 columns, so "faster" is short for "faster than the baseline".
std::string statement(const Group& group, const Series& series) {
  const BreakEven& even = series.break_even;
  const std::vector<double> rates = trusted_rates(series);
  if (std::ranges::none_of(group.series, &Series::is_baseline))
    return " has no baseline: neither bf16 nor none was measured";
  if (rates.empty()) return " has no trusted step times to compare";
  if (rates.size() == 1) return " is " + rates_told(series);
  const std::string range =
      " (" + format_rate(rates.front()) + " to " + format_rate(rates.back()) + ")";
  switch (even.kind) {
    case BreakEven::Kind::kPaysEverywhere:
      return " is faster at all rates" + range;
    case BreakEven::Kind::kPaysNowhere:
      return " is never faster" + range;
    case BreakEven::Kind::kOpen:
      return " is " + rates_told(series);
    case BreakEven::Kind::kPaysBelow:
    case BreakEven::Kind::kPaysAbove:
      return " is faster " + break_even_text(even) + " (" + open_interval(even) + ")";
    case BreakEven::Kind::kNothingMeasured:
      break;
  }
  return "";
}

// Joins name and statement in `columns` characters. Only the name is cut, to no less than kMin. Its
// middle is left out: the compressor is at its end.
std::string fitted(std::string name, const std::string& rest, std::size_t columns) {
  constexpr std::size_t kMin = 24;
  const std::string cut = "...";
  if (name.size() + rest.size() > columns) {
    const std::size_t room = columns > rest.size() ? columns - rest.size() : 0;
    const std::size_t kept = std::max(room, kMin);
    const std::size_t last = kept / 2, first = kept - cut.size() - last;
    if (kept < name.size()) name = name.substr(0, first) + cut + name.substr(name.size() - last);
  }
  return name + rest;
}

// Returns false also if the member is missing or is no boolean.
bool is_true(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && *found == true;
}

}  // namespace

std::string times_told(const Cell& cell) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<Estimate>& speedup, const char* over) {
    if (!speedup) return;
    const std::string named = parts.empty() ? "95 % CI " : "";
    parts.push_back(format_number(speedup->value) + "\xc3\x97 over " + over + " (" +
                    (speedup->interval ? named + format_interval(*speedup, format_number)
                                       : "too few steps for a 95 % CI") +
                    ")");
  };
  add(cell.over_bf16, "bf16");
  add(cell.over_fp32, "fp32");
  return joined(parts, " and ");
}

std::string rates_told(const Series& series) {
  std::vector<std::string> clauses;
  const auto add = [&](const char* begin, Pays wanted) {
    if (const std::string rates = at_those(series, wanted); !rates.empty())
      clauses.push_back(begin + rates);
  };
  add("faster ", Pays::kYes);
  add("not faster ", Pays::kNo);
  add("indistinguishable ", Pays::kOpen);
  return joined(clauses, "; ");
}

std::string untrusted_rates(const Group& group, const Series& series) {
  std::vector<std::string> rates;
  for (const double rate : group.rates) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || !cell->speedup) rates.push_back(format_rate(rate));
  }
  return rates.empty() ? "" : "no trusted figure at " + listed(rates);
}

std::string rate_or_open(const std::optional<double>& rate) {
  return rate ? format_rate(*rate) : "open";
}

std::string break_even_text(const BreakEven& even) {
  switch (even.kind) {
    case BreakEven::Kind::kNothingMeasured:
      return "";
    case BreakEven::Kind::kPaysEverywhere:
      return "at every rate";
    case BreakEven::Kind::kPaysNowhere:
      return "never";
    case BreakEven::Kind::kOpen:
      return "unclear";
    case BreakEven::Kind::kPaysBelow:
      return "below " + format_rate(even.rate);
    case BreakEven::Kind::kPaysAbove:
      return "above " + format_rate(even.rate);
  }
  return "";
}

std::string over_none_text(const Group& group, const Series& series) {
  if (series.is_baseline() || !group.has_baseline(Baseline::kBf16)) return "";
  const std::string text = break_even_text(series.break_even_fp32);
  return text == break_even_text(series.break_even) ? "" : text;
}

std::optional<double> predicted_rate(const Series& series) {
  std::optional<double> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const Cell& cell : series.cells)
    for (const Point* point : cell.used) {
      const nlohmann::json* said = break_even_of(*point);
      if (said == nullptr || !said->contains("rate") || !said->at("rate").is_number()) continue;
      const double rate = said->at("rate").get<double>();
      const double away = rate > 0 ? std::abs(std::log(rate / cell.rate)) : least;
      if (away >= least) continue;
      least = away;
      nearest = rate;
    }
  return nearest;
}

std::string predicted_break_even(const Series& series) {
  if (const std::optional<double> rate = predicted_rate(series))
    return "below " + format_rate(*rate);
  for (const Cell& cell : series.cells)
    for (const Point* point : cell.used)
      if (const nlohmann::json* said = break_even_of(*point))
        return said->contains("reason")               ? "none, as " + text_in(*said, "reason")
               : is_true(*said, "pays_at_least_rate") ? "at every rate"
               : is_true(*said, "pays_at_most_rate")  ? "at high rates only"
                                                      : "never";
  return "";
}

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

std::vector<std::string> break_even_lines(const Summary& summary, std::size_t columns,
                                          const BreakEvenNote& note) {
  std::vector<std::string> lines;
  for (const Group& group : summary.groups) {
    const std::string prefix = summary.groups.size() > 1 ? "[" + group.title + "] " : "";
    for (const Series& series : group.series) {
      if (series.is_baseline()) continue;
      const std::string name = prefix + series.label, rest = statement(group, series);
      std::string more;
      // A statement about all rates must name the rates that it leaves out.
      if (trusted_rates(series).size() > 1 &&
          (series.break_even.kind == BreakEven::Kind::kPaysEverywhere ||
           series.break_even.kind == BreakEven::Kind::kPaysNowhere))
        more = untrusted_rates(group, series);
      if (const std::string predicted = predicted_break_even(series); !predicted.empty())
        more += (more.empty() ? "predicted " : ", predicted ") + predicted;
      if (const std::string noted = note ? note(group, series) : ""; !noted.empty())
        more += (more.empty() ? "" : ", ") + noted;
      std::string line = fitted(name, more.empty() ? rest : rest + ", " + more, columns);
      if (line.size() <= columns) {
        lines.push_back(std::move(line));
      } else {
        lines.push_back(fitted(name, rest, columns));
        if (!more.empty()) lines.push_back("  " + more);
      }
      if (const std::string over = over_none_text(group, series); !over.empty())
        lines.push_back("  vs fp32 alone: " + over);
    }
  }
  return lines;
}

}  // namespace thinpipe
