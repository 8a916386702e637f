#include "harness/quality/table.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/units.h"
#include "harness/quality/by_step.h"

namespace thinpipe {
namespace {

constexpr std::size_t kNameColumns = 18;
constexpr const char* kLine =
    "{:<18}{:>8}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>7}{:>6}{:>6}{:>7}\n";

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

std::string summary_line(std::string name, const QualitySummary& summary) {
  std::string before;
  if (name.size() >= kNameColumns) {
    before = name + "\n";
    name.clear();
  }
  const auto of_k = [&](double Distribution::*member) {
    return summary.estimation ? cell((*summary.estimation).*member) : std::string("-");
  };
  std::optional<double> mean, half;
  if (summary.quality) mean = summary.quality->mean;
  if (summary.quality && summary.quality->interval)
    half = summary.quality->interval->high - summary.quality->mean;
  return before + fmt::format(kLine, name, format_bytes(static_cast<double>(summary.encoded_bytes)),
                              cell(summary.bits_per_element), cell(mean), cell(half),
                              of_k(&Distribution::p5), of_k(&Distribution::p50),
                              of_k(&Distribution::p95), of_k(&Distribution::max),
                              percent_cell(summary.error_mean), cell(summary.cosine_mean),
                              cell(summary.drift), percent_cell(summary.overlap),
                              cell(summary.passes));
}

std::string step_lines(const std::vector<StepQuality>& steps, const char* margin) {
  std::string text;
  for (const StepQuality& step : steps)
    text += summary_line(fmt::format("{}step {}", margin, step.step), step.summary);
  return text;
}

}  // namespace

std::string quality_heading() {
  return fmt::format("{:32}sent over asked, k\xcc\x82/k{:>22}{:>19}\n", "", "%", "%") +
         fmt::format(kLine, "compressor", "bytes", "bits", "mean",
                     "\xc2\xb1"
                     "90%",
                     "p5", "p50", "p95", "max", "error", "cosine", "drift", "top-k", "passes");
}

std::string quality_lines(const CompressorQuality& quality, QualityRows rows) {
  std::string text = summary_line(quality.spec.to_string(), quality.total);
  if (rows == QualityRows::kSteps) text += step_lines(quality_by_step(quality), "  ");
  if (rows != QualityRows::kTensors && rows != QualityRows::kTensorSteps) return text;
  for (const TensorQuality& tensor : quality.tensors) {
    text += summary_line("  " + tensor.info.name, tensor.summary);
    if (rows == QualityRows::kTensorSteps) text += step_lines(quality_by_step(tensor), "    ");
  }
  return text;
}

}  // namespace thinpipe
