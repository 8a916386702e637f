// At which rates a compressor pays, at which it does not, and at which that cannot be told.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// "at 10 Mbit/s and 100 Mbit/s"; of a single rate with the figure.
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
    text += ": " + format_number(last->speedup->value) + " times as fast as " + last->over + " (" +
            format_interval(*last->speedup, format_number) + ")";
  return text;
}

// What models said of the point; null where they said nothing.
const nlohmann::json* break_even_of(const Point& point) {
  const auto found = point.prediction.find("break_even");
  return found == point.prediction.end() || !found->is_object() ? nullptr : &*found;
}

}  // namespace

std::string times_told(const Cell& cell) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<Estimate>& speedup, const char* over) {
    if (!speedup) return;
    parts.push_back(format_number(speedup->value) + " times as fast as " + over + " (" +
                    (speedup->interval ? format_interval(*speedup, format_number)
                                       : "too few steps for an interval") +
                    ")");
  };
  add(cell.over_bf16, "bf16");
  add(cell.over_fp32, "none");
  return joined(parts, " and ");
}

std::string rates_told(const Series& series) {
  std::vector<std::string> clauses;
  const auto add = [&](const char* begin, Pays wanted) {
    if (const std::string rates = at_those(series, wanted); !rates.empty())
      clauses.push_back(begin + rates);
  };
  add("pays ", Pays::kYes);
  add("does not pay ", Pays::kNo);
  add("cannot be told ", Pays::kOpen);
  return joined(clauses, "; ");
}

std::string break_even_text(const BreakEven& even) {
  switch (even.kind) {
    case BreakEven::Kind::kNothingMeasured:
      return "";
    case BreakEven::Kind::kPaysEverywhere:
      return "at every rate";
    case BreakEven::Kind::kPaysNowhere:
      return "at no rate";
    case BreakEven::Kind::kOpen:
      return "cannot be told";
    case BreakEven::Kind::kPaysBelow:
      return "up to " + format_rate(even.rate);
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
    return "up to " + format_rate(*rate);
  for (const Cell& cell : series.cells)
    for (const Point* point : cell.used)
      if (const nlohmann::json* said = break_even_of(*point))
        return said->value("pays_at_least_rate", false)  ? "at every rate"
               : said->value("pays_at_most_rate", false) ? "at high rates only"
                                                         : "at no rate";
  return "";
}

}  // namespace thinpipe
