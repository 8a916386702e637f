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
    text += ": " + format_number(last->speedup->value) + " times as fast (" +
            format_interval(*last->speedup, format_number) + ")";
  return text;
}

}  // namespace

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

std::string predicted_break_even(const Series& series) {
  std::string text;
  double nearest = 0;  // distance in ln(rate) of the link whose figures it was predicted from
  for (const Cell& cell : series.cells)
    for (const Point* point : cell.used) {
      const auto found = point->prediction.find("break_even");
      if (found == point->prediction.end() || !found->is_object()) continue;
      const auto rate = found->find("rate");
      if (rate != found->end() && rate->is_number() && rate->get<double>() > 0) {
        const double away = std::abs(std::log(rate->get<double>() / cell.rate));
        if (!text.empty() && away >= nearest) continue;
        nearest = away;
        text = "up to " + format_rate(rate->get<double>());
      } else if (text.empty()) {
        nearest = std::numeric_limits<double>::infinity();
        text = found->value("pays_at_least_rate", false)  ? "at every rate"
               : found->value("pays_at_most_rate", false) ? "at high rates only"
                                                          : "at no rate";
      }
    }
  return text;
}

}  // namespace thinpipe
