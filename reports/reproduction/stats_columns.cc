// Columns of how gradients are distributed.
#include <cmath>
#include <functional>

#include "reports/reproduction/columns.h"

namespace thinpipe::columns {
namespace {

MeasuredCell of_whole_models(const ArmRecords& arm,
                             const std::function<double(const StatsGradient&)>& value) {
  MeasuredCell cell;
  if (!arm.stats) return cell;
  for (const StatsGradient& gradient : arm.stats->gradients) {
    if (gradient.tensor != "*" || gradient.feedback) continue;
    const double one = value(gradient);
    if (std::isfinite(one)) cell.repetitions.push_back({gradient.step, one});
  }
  return cell;
}

}  // namespace

ReproductionColumn fit_distance(std::size_t fit) {
  return {kFitNames.at(fit), format_plain, [fit](const ArmRecords& arm, const std::string&) {
            return of_whole_models(
                arm, [fit](const StatsGradient& gradient) { return gradient.distances[fit]; });
          }};
}

ReproductionColumn decay_exponent() {
  return {"decay exponent p", format_plain, [](const ArmRecords& arm, const std::string&) {
            return of_whole_models(arm, [](const StatsGradient& gradient) { return gradient.p; });
          }};
}

ReproductionColumn best_k_error(std::size_t ratio, std::string name) {
  return {std::move(name), format_plain, [ratio](const ArmRecords& arm, const std::string&) {
            return of_whole_models(arm, [ratio](const StatsGradient& gradient) {
              return gradient.best_k_errors.at(ratio);
            });
          }};
}

}  // namespace thinpipe::columns
