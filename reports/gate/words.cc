#include "reports/gate/words.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/text/units.h"

namespace thinpipe {
namespace {

std::string signed_percent(double share) { return fmt::format("{:+.2f}", 100 * share); }

}  // namespace

std::string change_text(const MetricComparison& comparison) {
  if (!std::isfinite(comparison.change)) return "changed";
  std::string text = signed_percent(comparison.change) + " %";
  if (comparison.interval)
    text += fmt::format(" ({} to {})", signed_percent(comparison.interval->low),
                        signed_percent(comparison.interval->high));
  return text;
}

std::string value_text(const MetricComparison& comparison, double value) {
  if (comparison.kind == "exact")  // every digit counts
    return fmt::format("{}{}", value, comparison.unit == "1" ? "" : " " + comparison.unit);
  if (comparison.unit == "s") return format_time(value);
  if (comparison.unit == "bit/s") return format_rate(value);
  if (comparison.unit == "1") return format_number(value);
  return format_number(value) + " " + comparison.unit;
}

std::string metric_title(const MetricComparison& comparison) {
  return comparison.name.second + " of " + comparison.name.first;
}

std::string detail_text(const MetricComparison& comparison) {
  std::string text = value_text(comparison, comparison.before) + " before, " +
                     value_text(comparison, comparison.after) + " now";
  if (comparison.margin > 0) text += fmt::format("; margin {:g} %", 100 * comparison.margin);
  if (comparison.kind == "timed") text += fmt::format("; {} samples", comparison.samples);
  if (!comparison.note.empty()) text += "; " + comparison.note;
  return text;
}

}  // namespace thinpipe
