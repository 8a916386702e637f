#include "harness/quality/table.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/units.h"

namespace thinpipe {
namespace {

// Five characters at most, a sign apart: three significant digits where they fit; "-" for none.
std::string cell(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double magnitude = std::fabs(*value);
  if (magnitude >= 99999.5 || (magnitude != 0 && magnitude < 9.995e-4))
    return fmt::format("{:.0e}", *value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", *value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", *value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", *value);
  return magnitude == 0 ? "0" : fmt::format("{:.3f}", *value);
}

std::string percent_cell(std::optional<double> share) {
  if (share) *share *= 100;
  return cell(share);
}

}  // namespace

QualityTable::QualityTable()
    : kept_({"compressor", "bytes", "bits", "error\n%", "cosine", "drift", "top-k\n%", "passes"}),
      sent_({"sent over asked, k\xcc\x82/k", "mean",
             ("\xc2\xb1"
              "90%"),
             "p5", "p50", "p95", "max"}) {}

void QualityTable::add_row(const std::string& name, const QualitySummary& summary) {
  kept_.add({name, format_bytes(static_cast<double>(summary.encoded_bytes)),
             cell(summary.bits_per_element), percent_cell(summary.error_mean),
             cell(summary.cosine_mean), cell(summary.drift), percent_cell(summary.overlap),
             cell(summary.passes)});
  const auto of_k = [&](double Distribution::*member) {
    return summary.estimation ? cell((*summary.estimation).*member) : std::string("-");
  };
  std::optional<double> mean, half;
  if (summary.quality) mean = summary.quality->mean;
  if (summary.quality && summary.quality->interval)
    half = summary.quality->interval->high - summary.quality->mean;
  sent_.add({name, cell(mean), cell(half), of_k(&Distribution::p5), of_k(&Distribution::p50),
             of_k(&Distribution::p95), of_k(&Distribution::max)});
}

void QualityTable::add_steps(const std::vector<StepQuality>& steps, const char* margin) {
  for (const StepQuality& step : steps)
    add_row(fmt::format("{}step {}", margin, step.step), step.summary);
}

void QualityTable::add(const CompressorQuality& quality, QualityRows rows) {
  add_row(quality.spec.to_string(), quality.total);
  if (rows == QualityRows::kSteps) add_steps(quality_by_step(quality), "  ");
  if (rows != QualityRows::kTensors && rows != QualityRows::kTensorSteps) return;
  for (const TensorQuality& tensor : quality.tensors) {
    add_row("  " + tensor.info.name, tensor.summary);
    if (rows == QualityRows::kTensorSteps) add_steps(quality_by_step(tensor), "    ");
  }
}

std::string QualityTable::text() const { return kept_.text() + "\n" + sent_.text(); }

}  // namespace thinpipe
