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

// What models said of the point; null where they said nothing.
const nlohmann::json* break_even_of(const Point& point) {
  const auto found = point.prediction.find("break_even");
  return found == point.prediction.end() || !found->is_object() ? nullptr : &*found;
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
