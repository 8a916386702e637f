// Who is fastest at one rate, and whether the figures can tell.
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

bool is_trusted(const Cell* cell) {
  return cell != nullptr && cell->status == Status::kOk && cell->step_time.has_value();
}

const Estimate& comparable(const Cell& cell) {
  return cell.speedup ? *cell.speedup : *cell.step_time;
}

bool overlaps(const Estimate& a, const Estimate& b) {
  return a.interval && b.interval && a.interval->low <= b.interval->high &&
         b.interval->low <= a.interval->high;
}

Outcome::Kind kind_of(const Cell& cell) {
  if (!cell.speedup) return Outcome::Kind::kNoBaseline;
  if (cell.speedup->interval && cell.speedup->interval->holds(1)) return Outcome::Kind::kEven;
  return cell.speedup->value > 1 ? Outcome::Kind::kWins : Outcome::Kind::kLoses;
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
    if (overlaps(comparable(*cell), comparable(*outcome.cell))) outcome.ties.push_back(&series);
  }
  return outcome;
}

}  // namespace thinpipe
