#include "harness/job/step_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/input_file.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMaxLine = 1 << 16;  // bytes

// The metrics that a rank may report.
constexpr MetricType kReported[] = {
    "step_time"_metric,     "compress_time"_metric, "exchange_time"_metric, "decode_time"_metric,
    "payload_bytes"_metric, "dense_bytes"_metric,   "quality"_metric};

using Step = std::map<std::string, double>;  // metrics by name

// Takes one line of a rank's file. Returns what is wrong with it, or "".
std::string take_line(const std::string_view line, std::vector<Step>& steps, JobSteps& job) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "expected a JSON object";
  Step step;
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const nlohmann::json& value = item.value();
    if (name == "compressor" || name == "collective") {
      if (!value.is_string()) return name + ": expected a string";
      (name == "compressor" ? job.compressor : job.collective) = value.get<std::string>();
      continue;
    }
    if (std::none_of(std::begin(kReported), std::end(kReported),
                     [&](const MetricType& metric) { return name == metric.name; }))
      return fmt::format("{}: unknown; expected one of {}", name, [] {
        std::string names;
        for (const MetricType& metric : kReported)
          names += (names.empty() ? "" : ", ") + std::string(metric.name);
        return names;
      }());
    if (!value.is_number() || !(value.get<double>() >= 0) || !std::isfinite(value.get<double>()))
      return name + ": expected a number of at least 0";
    step[name] = value.get<double>();
  }
  if (!step.empty()) steps.push_back(std::move(step));
  return "";
}

std::vector<Step> read_rank(const std::filesystem::path& file, JobSteps& job) {
  std::vector<Step> steps;
  InputLines lines(InputFile(file, "steps of a job"), kMaxLine);
  while (lines.next()) {
    if (!lines.finished()) break;  // the rank ended while it wrote
    const std::string error = take_line(lines.line(), steps, job);
    if (!error.empty()) {
      job.errors.push_back(fmt::format("${}/{} line {}: {}", kStepsVariable,
                                       file.filename().string(), lines.number(), error));
      break;
    }
  }
  return steps;
}

// Returns the metric of one step over all ranks; NaN where no rank has it.
double over_ranks(const MetricType& metric, const std::vector<std::vector<Step>>& ranks,
                  std::size_t step) {
  double sum = 0, most = 0, count = 0;
  for (const std::vector<Step>& rank : ranks) {
    const auto found = rank[step].find(metric.name);
    if (found == rank[step].end()) continue;
    sum += found->second;
    most = std::max(most, found->second);
    ++count;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::string_view(metric.unit) == "s" ? most : sum / count;
}

}  // namespace

JobSteps read_steps(const std::filesystem::path& folder, int ranks, std::size_t warmup) {
  JobSteps job;
  std::vector<std::vector<Step>> reported;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::filesystem::path file = folder / std::to_string(rank);
    std::error_code none;
    if (!std::filesystem::exists(file, none)) continue;
    try {
      reported.push_back(read_rank(file, job));
    } catch (const InputError& error) {
      job.errors.emplace_back(error.what());
    }
  }
  std::size_t steps = reported.empty() ? 0 : reported[0].size();
  for (const std::vector<Step>& rank : reported) steps = std::min(steps, rank.size());
  for (const MetricType& metric : kReported) {
    std::vector<double> samples;
    for (std::size_t step = warmup; step < steps; ++step)
      samples.push_back(over_ranks(metric, reported, step));
    if (std::any_of(samples.begin(), samples.end(), [](double one) { return std::isfinite(one); }))
      put(job.metrics, metric, std::move(samples));
  }
  return job;
}

}  // namespace thinpipe
