// The sentence on who is fastest at equal error.
#include <algorithm>
#include <array>

#include "reports/text/lists.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// From what 16 bits lose to what the sparsest methods do.
constexpr std::array kErrors = {0.01, 0.1, 0.5, 0.9};

// The fastest whose error is no larger; a compressor that no interval tells from the faster
// baseline stands back. Null where nothing is known.
const Series* fastest_within(const Group& group, double rate, double most_error) {
  const Series* best = nullptr;
  for (const Series& series : group.series) {
    const Cell* cell = series.at(rate);
    if (cell == nullptr || cell->status != Status::kOk || !cell->step_time) continue;
    const std::optional<double> error = cell->median_of_metric("relative_error");
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
