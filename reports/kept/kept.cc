// From records to rows.
#include "reports/kept/kept.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

constexpr double kNone = KeptRow::kNone;

double finite_mean(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNone : sum / count;
}

// All samples of a metric, NaN included; as many as there are steps, or none.
std::vector<double> aligned(const Point& point, const std::string& name, std::size_t count) {
  const auto found = point.metrics.find(name);
  if (found == point.metrics.end() || found->second.samples.size() != count) return {};
  return found->second.samples;
}

std::vector<double> places(const Point& point, const char* name) {
  const auto found = point.at.find(name);
  if (found == point.at.end() || !found->is_array()) return {};
  std::vector<double> values;
  for (const nlohmann::json& value : *found)
    values.push_back(value.is_number() ? value.get<double>() : kNone);
  return values;
}

// Takes `ratio` (or SBC's `p`) out of "topk:memory=residual,ratio=0.01,warmup=none".
void split_ratio(const std::string& text, KeptRow& row) {
  const std::size_t colon = text.find(':');
  row.family = text.substr(0, colon);
  if (colon == std::string::npos) return;
  char separator = ':';
  for (const std::string& pair : split(text.substr(colon + 1), ',')) {
    const bool is_ratio =
        pair.starts_with("ratio=") || (row.family.starts_with("sbc") && pair.starts_with("p="));
    if (is_ratio) {
      row.ratio = std::strtod(pair.c_str() + pair.find('=') + 1, nullptr);
      continue;
    }
    row.family += separator + pair;
    separator = ',';
  }
}

void set_steps(const Point& point, KeptRow& row) {
  const std::vector<double> steps = places(point, "step"), ranks = places(point, "rank");
  const std::vector<double> quality = aligned(point, "quality", steps.size());
  const std::vector<double> error = aligned(point, "relative_error", steps.size());
  const std::vector<double> drift = aligned(point, "drift", steps.size());
  std::map<double, std::vector<std::size_t>> samples;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (std::isfinite(steps[i])) samples[steps[i]].push_back(i);
  const auto of = [](const std::vector<double>& values, const std::vector<std::size_t>& which) {
    std::vector<double> chosen;
    for (const std::size_t i : which)
      if (!values.empty()) chosen.push_back(values[i]);
    return finite_mean(chosen);
  };
  std::vector<double> qualities;
  for (const auto& [step, which] : samples) {
    row.steps.push_back({step, of(quality, which), of(error, which), of(drift, which)});
    qualities.push_back(row.steps.back().quality);
  }
  row.quality = mean_interval(qualities, kSidcoConfidence);
  if (!row.steps.empty()) row.drift = row.steps.back().drift;
}

KeptRow row_of(const Point& point) {
  KeptRow row;
  const std::size_t bar = point.id.find('|');
  row.spec = point.id.substr(0, bar);
  row.tensor = bar == std::string::npos ? "*" : point.id.substr(bar + 1);
  split_ratio(point.axes.compressor, row);
  set_steps(point, row);
  const std::vector<double> each = point.samples(row.tensor == "*" ? "tensor_quality" : "quality");
  if (!each.empty()) {
    row.p5 = quantile(each, 0.05);
    row.p50 = quantile(each, 0.5);
    row.p95 = quantile(each, 0.95);
    row.most = *std::max_element(each.begin(), each.end());
  }
  const std::vector<double> bytes = point.samples("encoded_bytes");
  if (!bytes.empty()) row.bytes = finite_mean(bytes) * static_cast<double>(bytes.size());
  row.bits = finite_mean(point.samples("bits_per_element"));
  row.error = finite_mean(point.samples("relative_error"));
  row.cosine = finite_mean(point.samples("cosine"));
  row.overlap = finite_mean(point.samples("top_k_overlap"));
  row.passes = finite_mean(point.samples("passes"));
  return row;
}

}  // namespace

KeptSummary summarize_kept(const Records& records) {
  KeptSummary summary;
  for (const Point& point : records.points) {
    if (point.status != Status::kOk) continue;
    KeptRow row = row_of(point);
    (row.tensor == "*" ? summary.totals : summary.tensors).push_back(std::move(row));
  }
  if (summary.totals.empty())
    throw InputError(records.file.string() +
                     ": no compressor in it yet; there is nothing to report");
  return summary;
}

}  // namespace thinpipe
