// The values of a point that count, and the columns of predictions, benches, gradients and quality.
#include "reports/reproduction/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "base/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {

std::string format_percentage(double value) { return fmt::format("{:.2f} %", value); }
std::string format_times(double value) { return format_number(value) + "x"; }
std::string format_plain(double value) { return format_number(value); }

namespace {

const Document& training_of(const ArmRecords& arm) {
  static const Document kNone;
  return arm.records.headers.empty() ? kNone : arm.records.headers.front().training;
}

// Returns what distinguishes the tasks of two trainings, whatever their compressor and optimiser.
std::string task_of(const ArmRecords& arm) {
  const nlohmann::json& training = *training_of(arm);
  const nlohmann::json options = training.value("options", nlohmann::json::object());
  const int workers = arm.records.points.empty() ? 0 : arm.records.points.front().axes.ranks;
  return fmt::format("{} {} {} {}", options.value("model", ""), training.value("data", ""), workers,
                     training.value("steps", nlohmann::json()).dump());
}

void add_figures_of_none(const ArmRecords& arm, const MetricType& metric,
                         std::vector<double>& figures) {
  for (const Point& point : arm.records.points) {
    if (point.axes.method != "none") continue;
    const auto figure =
        point.diverged ? columns::chance_of(arm) : columns::mean_sample(point, metric);
    if (figure && (point.diverged || point.status != Status::kFailed)) figures.push_back(*figure);
  }
}

}  // namespace

std::string not_learnt(const ArmRecords& arm, const std::vector<ArmRecords>& all) {
  const std::optional<double> chance = columns::chance_of(arm);
  if (!chance) return "";
  const bool of_text = training_of(arm).text("figure") == "perplexity";
  const MetricType& metric = of_text ? "final_perplexity"_metric : "final_accuracy"_metric;
  std::vector<double> figures;
  add_figures_of_none(arm, metric, figures);
  if (figures.empty())
    for (const ArmRecords& other : all)
      if (task_of(other) == task_of(arm)) add_figures_of_none(other, metric, figures);
  if (figures.empty()) return "";
  const double found = mean(figures);
  if (of_text ? found <= kLearntBelow * *chance : 1 - found <= kLearntBelow * (1 - *chance))
    return "";
  const auto figure = [&](double value) {
    return of_text ? format_plain(value) : format_percentage(100 * value);
  };
  return fmt::format(
      "{}: without compression the {} is {}, and {} of a model that knows only the frequencies of "
      "{}",
      arm.label, of_text ? "perplexity" : "accuracy", figure(found), figure(*chance),
      of_text ? "symbols" : "classes");
}

namespace columns {
namespace {

std::string complaint_about(const Point& point) {
  std::string text = point.id.empty() ? "a point" : point.id;
  if (point.axes.seed > 0) text = fmt::format("seed {}", point.axes.seed);
  text += std::string(": ") + (point.diverged ? "diverged" : status_name(point.status));
  return point.reasons.empty() ? text : text + ", " + joined(point.reasons, "; ");
}

// Returns the predictions for the given point; 0 is no figure.
MeasuredCell predicted(const ArmRecords& arm, const std::string& compressor, double rate, int ranks,
                       const std::function<double(const nlohmann::json&)>& value) {
  MeasuredCell cell;
  for (const auto& point : arm.printed->value("points", nlohmann::json::array())) {
    const auto& axes = point.at("axes");
    if (axes.at("compressor") != compressor || axes.at("rate") != rate || axes.at("ranks") != ranks)
      continue;
    if (point.contains("refusal"))
      cell.complaints.push_back(point.at("refusal").get<std::string>());
    else if (const double one = value(point); one > 0)
      cell.repetitions.push_back({0, one});
  }
  return cell;
}

using PredictedNetwork = std::tuple<int, double, double>;  // ranks, rate, delay

// Returns the shortest predicted step in s of each compressor in each network.
std::map<PredictedNetwork, std::map<std::string, double>> shortest_steps(const ArmRecords& arm,
                                                                         bool memory_bound) {
  std::map<PredictedNetwork, std::map<std::string, double>> steps;
  for (const auto& point : arm.printed->value("points", nlohmann::json::array())) {
    const nlohmann::json source =
        memory_bound ? point.value("at_memory_pace", nlohmann::json::object()) : point;
    if (!source.contains("prediction")) continue;
    const auto& axes = point.at("axes");
    const double step = source.at("prediction").at("step_time").get<double>();
    auto& of_network = steps[{axes.at("ranks").get<int>(), axes.at("rate").get<double>(),
                              axes.at("delay").get<double>()}];
    const auto [place, is_new] = of_network.emplace(axes.at("compressor").get<std::string>(), step);
    if (!is_new) place->second = std::min(place->second, step);
  }
  return steps;
}

MeasuredCell encode_samples(const std::vector<const Point*>& points) {
  MeasuredCell cell = values_of(points, repeat_of, [](const Point&) { return std::nullopt; });
  for (const Point* point : points)
    for (const double seconds : point->samples("encode_time"_metric))
      cell.repetitions.push_back({cell.repetitions.size(), seconds});
  return cell;
}

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

// Returns the points of all tensors together; points of single tensors have a name after the bar.
std::vector<const Point*> whole_models(const ArmRecords& arm, const std::string& compressor) {
  std::vector<const Point*> points;
  for (const Point* point : points_of(arm, compressor))
    if (point->id.ends_with("|*")) points.push_back(point);
  return points;
}

constexpr double kMaxAxisRanks = 1 << 20;

// Returns means over steps of `change`, applied to k-hat over k: one for each worker of `quality`,
// or for each seed of a training. Leaves out steps without a k.
MeasuredCell means_of_quality(const ArmRecords& arm, const std::string& compressor,
                              double (*change)(double)) {
  if (!training_of(arm).empty())
    return values_of(points_of(arm, compressor), seed_of,
                     [change](const Point& point) -> std::optional<double> {
                       std::vector<double> samples = point.samples("quality"_metric);
                       if (samples.empty()) return std::nullopt;
                       std::transform(samples.begin(), samples.end(), samples.begin(), change);
                       return mean(samples);
                     });
  MeasuredCell cell;
  for (const Point* point : whole_models(arm, compressor)) {
    const auto found = point->metrics.find("quality"_metric);
    if (found == point->metrics.end() || !point->at) continue;
    const std::vector<double>&samples = found->second.samples, &ranks = point->at->rank;
    std::map<std::uint64_t, std::vector<double>> by_worker;
    for (std::size_t i = 0; i < std::min(samples.size(), ranks.size()); ++i)
      if (std::isfinite(samples[i]) && ranks[i] >= 0 && ranks[i] < kMaxAxisRanks)
        by_worker[static_cast<std::uint64_t>(ranks[i])].push_back(change(samples[i]));
    for (const auto& [worker, values] : by_worker)
      cell.repetitions.push_back({worker, mean(values)});
  }
  return cell;
}

// Returns |ln(quality)|. A quality of 0, nothing sent, counts as kMinQuality.
double quality_distance(double quality) {
  constexpr double kMinQuality = 1e-6;
  return std::abs(std::log(std::max(quality, kMinQuality)));
}

ReproductionColumn exact_size(const char* name, std::string (*format)(double),
                              double (*of_bits)(double)) {
  return {name, format, [of_bits](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell =
                values_of(whole_models(arm, compressor), repeat_of,
                          [of_bits](const Point& point) -> std::optional<double> {
                            const auto bits = mean_sample(point, "bits_per_element"_metric);
                            return bits && *bits > 0 ? std::optional(of_bits(*bits)) : std::nullopt;
                          });
            cell.exact = true;
            return cell;
          }};
}

}  // namespace

std::vector<const Point*> points_of(const ArmRecords& arm, const std::string& compressor) {
  std::vector<const Point*> points;
  for (const Point& point : arm.records.points)
    if (compressor.empty() || point.axes.compressor == compressor) points.push_back(&point);
  return points;
}

std::optional<double> chance_of(const ArmRecords& arm) { return training_of(arm).number("chance"); }

std::optional<double> mean_sample(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(mean(samples));
}

std::vector<double> bits_by_step(const Point& point, bool pulled) {
  const std::vector<double> both = point.samples("payload_bytes"_metric),
                            pulls = point.samples("pull_bytes"_metric);
  const auto dense = mean_sample(point, "dense_bytes"_metric);
  if (!dense || pulls.size() != both.size()) return {};
  std::vector<double> bits(both.size());
  for (std::size_t i = 0; i < both.size(); ++i)
    bits[i] = 32 * (pulled ? pulls[i] : both[i] - pulls[i]) / *dense;
  return bits;
}

MeasuredCell values_of(const std::vector<const Point*>& points, PointKey key,
                       const PointValue& value, bool are_times) {
  MeasuredCell cell;
  bool has_invalid = false;
  for (const Point* point : points) {
    const bool untrusted = are_times && point->status == Status::kInvalid;
    has_invalid = has_invalid || point->status == Status::kInvalid;
    if (point->status == Status::kFailed || untrusted)
      cell.complaints.push_back(complaint_about(*point));
    if ((point->status == Status::kFailed && !point->diverged) || untrusted) continue;
    if (const std::optional<double> one = value(*point))
      cell.repetitions.push_back({key(*point), *one});
  }
  cell.distrusted = are_times && has_invalid && cell.repetitions.empty();
  return cell;
}

MeasuredCell times_of(const std::vector<const Point*>& points, PointKey key,
                      const PointValue& value) {
  return values_of(points, key, value, /*are_times=*/true);
}

ReproductionColumn predicted_scaling(double rate, int ranks) {
  return {fmt::format("{} at {}", ranks, format_rate(rate)), format_times,
          [=](const ArmRecords& arm, const std::string& compressor) {
            return predicted(arm, compressor, rate, ranks, [ranks](const nlohmann::json& point) {
              const auto& prediction = point.at("prediction");
              return ranks * prediction.at("compute_time").get<double>() /
                     prediction.at("step_time").get<double>();
            });
          }};
}

ReproductionColumn predicted_speed_up(double rate, int ranks) {
  return {fmt::format("{} at {}, over none", ranks, format_rate(rate)), format_times,
          [=](const ArmRecords& arm, const std::string& compressor) {
            const auto step = [&](const std::string& name) {
              return predicted(arm, name, rate, ranks, [](const nlohmann::json& point) {
                return point.at("prediction").at("step_time").get<double>();
              });
            };
            const MeasuredCell with = step(compressor);
            MeasuredCell cell{.complaints = with.complaints};
            for (const auto& point : arm.printed->value("points", nlohmann::json::array())) {
              const std::string other = point.at("axes").at("compressor");
              if (spec_name(other) != "none" || !cell.repetitions.empty()) continue;
              for (const auto& [none, one] : paired(step(other), with))
                cell.repetitions.push_back({0, none / one});
            }
            return cell;
          }};
}

ReproductionColumn paying_cells(const PayingCells& cells) {
  return {"pays over " + cells.over, format_percentage,
          [cells](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell;
            cell.exact = true;  // the cells are no random sample
            for (const auto& [network, steps] : shortest_steps(arm, cells.memory_bound)) {
              if (cells.rate > 0 && std::get<1>(network) != cells.rate) continue;
              double baseline = std::numeric_limits<double>::infinity();
              for (const auto& [name, step] : steps)
                if (const std::string method = spec_name(name);
                    method == cells.over ||
                    (cells.over == "both" && (method == "none" || method == "bf16")))
                  baseline = std::min(baseline, step);
              if (!std::isfinite(baseline)) continue;
              for (const auto& [name, step] : steps) {
                const std::string method = spec_name(name);
                if (method == "none" || method == "bf16") continue;
                if (!compressor.empty() && name != compressor) continue;
                cell.repetitions.push_back(
                    {cell.repetitions.size(), baseline >= kPays * step ? 100.0 : 0.0});
              }
            }
            return cell;
          }};
}

ReproductionColumn encode_time() {
  return {"encode", format_time, [](const ArmRecords& arm, const std::string& compressor) {
            return encode_samples(points_of(arm, compressor));
          }};
}

ReproductionColumn encode_speed_up(const std::string& over) {
  return {"encode, speed-up over " + over, format_times,
          [over](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell = encode_samples(points_of(arm, compressor));
            std::vector<const Point*> others;
            for (const Point& point : arm.records.points)
              if (point.axes.method == over &&
                  split_amount(point.axes.compressor).amount == split_amount(compressor).amount)
                others.push_back(&point);
            MeasuredCell ratio;
            ratio.is_ratio = true;
            ratio.complaints = cell.complaints;
            // Repetitions are in random order, so any pairing will do.
            for (const PairedValue& pair : paired(encode_samples(others), cell))
              ratio.repetitions.push_back({ratio.repetitions.size(), pair.first / pair.second});
            return ratio;
          }};
}

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

ReproductionColumn best_k_error(double ratio) {
  return {"error of the best k", format_plain, [ratio](const ArmRecords& arm, const std::string&) {
            return of_whole_models(arm, [&](const StatsGradient& gradient) {
              const std::vector<double>& ratios = arm.stats->ratios;
              const auto found = std::find(ratios.begin(), ratios.end(), ratio);
              return found == ratios.end() ? std::numeric_limits<double>::quiet_NaN()
                                           : gradient.best_k_errors.at(
                                                 static_cast<std::size_t>(found - ratios.begin()));
            });
          }};
}

ReproductionColumn estimation_quality() {
  return {"k\xcc\x82/k", format_plain, [](const ArmRecords& arm, const std::string& compressor) {
            return means_of_quality(arm, compressor, [](double quality) { return quality; });
          }};
}

ReproductionColumn estimation_error() {
  return {"off by", format_times, [](const ArmRecords& arm, const std::string& compressor) {
            MeasuredCell cell = means_of_quality(arm, compressor, quality_distance);
            for (Repetition& one : cell.repetitions) one.value = std::exp(one.value);
            return cell;
          }};
}

ReproductionColumn kept_bits_per_element() {
  return exact_size("bits an element", format_plain, [](double bits) { return bits; });
}

ReproductionColumn kept_times_smaller() {
  return exact_size("times smaller", format_times, [](double bits) { return 32 / bits; });
}

}  // namespace columns
}  // namespace thinpipe
