#include "harness/quality/offline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/sums.h"
#include "compressors/registry.h"
#include "harness/files/tensor_file.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Returns the mean of the values that are not NaN; nothing if there are none.
std::optional<double> known_mean(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::nullopt;
  return mean(values);
}

/// Returns <decoded, c> / (|decoded| |c|), from |decoded - c|^2 = |decoded|^2 + |c|^2 - 2 <decoded,
/// c>, so that c itself is not needed. NaN where decoded or c is all zeros.
double cosine(const QualitySample& sample) {
  const double c = sample.distortion.input_squares;
  const double decoded = sample.decoded_squares;
  if (c == 0 || decoded == 0) return kNone;
  const double product = (c + decoded - sample.distortion.error_squares) / 2;
  return std::clamp(product / std::sqrt(c * decoded), -1.0, 1.0);
}

void set(std::vector<double>& by_rank, std::size_t rank, double value) {
  if (by_rank.size() <= rank) by_rank.resize(rank + 1, kNone);
  by_rank[rank] = value;
}

double over(std::size_t part, std::size_t whole) {
  return whole == 0 ? kNone : static_cast<double>(part) / static_cast<double>(whole);
}

double drift(const QualitySample& sample) {
  return sample.drift_inputs > 0 ? std::sqrt(sample.drift_difference / sample.drift_inputs) : kNone;
}

std::optional<Distribution> distribution(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Distribution{.samples = values.size(),
                      .mean = mean(values),
                      .p5 = quantile(values, 0.05),
                      .p50 = quantile(values, 0.5),
                      .p95 = quantile(values, 0.95),
                      .max = *std::max_element(values.begin(), values.end())};
}

/// One tensor of one rank, with its sums over the steps.
struct Lane {
  std::unique_ptr<Compressor> compressor;
  std::vector<float> decoded;
  std::vector<double> inputs;      ///< sum of all inputs
  std::vector<double> difference;  ///< sum of all inputs minus the sum of all decoded values
  std::vector<float> period_sum;   ///< of the inputs of this period
};

class Offline {
 public:
  Offline(const Trace& trace, const Spec& spec, const OfflineOptions& options)
      : trace_(trace),
        options_(options),
        ranks_(options.ranks == 0 ? trace.ranks() : options.ranks),
        steps_(options.steps == 0 ? trace.steps() : options.steps),
        tallies_(trace.tensors().size()),
        samples_(trace.tensors().size()) {
    if (ranks_ > trace.ranks())
      throw InputError(fmt::format("{}: {} ranks requested, but the trace has {}",
                                   trace.folder().string(), ranks_, trace.ranks()));
    const MethodInfo& method = find_method(spec.name);
    result_.spec = spec;
    result_.compressor = parameters_of(spec).text();
    if (method.needs_squares && trace.squares(0, 0, 0).empty())
      throw InputError(fmt::format("{}: {} needs second moments, and the trace has none",
                                   trace.folder().string(), spec.to_string()));
    std::size_t largest = 0;
    for (const TraceTensor& tensor : trace.tensors()) {
      const TensorInfo info{tensor.name, tensor.shape, tensor.elements};
      infos_.push_back(info);
      const auto compressor =
          make_compressor(spec, info, {.seed = options.seed, .threads = options.threads});
      largest = std::max(largest, compressor->max_encoded_size());
      result_.period = compressor->period();
      result_.incremental = compressor->incremental();
      shares_scale_ = dynamic_cast<const SharedScale*>(compressor.get()) != nullptr;
    }
    payload_ = Buffer<std::byte>(largest);
  }

  // Ranks that share a scale are replayed together, step by step. Other ranks are replayed one
  // after the other, which needs the memory of one rank.
  std::size_t at_once() const { return shares_scale_ ? ranks_ : 1; }

  CompressorQuality run(const std::function<void(std::size_t)>& advance) {
    if (!options_.dump.empty()) make_dump_folder(options_.dump);
    for (std::size_t rank = 0; rank < ranks_; rank += at_once())
      replay(rank, rank + at_once(), advance);
    for (std::size_t i = 0; i < infos_.size(); ++i)
      result_.tensors.push_back({infos_[i], tallies_[i].summary(), std::move(samples_[i])});
    result_.total = total_.summary();
    return std::move(result_);
  }

 private:
  void replay(std::size_t first_rank, std::size_t end_rank,
              const std::function<void(std::size_t)>& advance) {
    const std::size_t ranks = end_rank - first_rank;
    std::vector<std::vector<Lane>> lanes(ranks);
    for (std::size_t r = 0; r < ranks; ++r) start(first_rank + r, lanes[r]);
    std::vector<std::vector<float>> repaired(ranks);
    std::vector<GradientInput> gradients(ranks);
    std::vector<double> prepared(ranks, 0.0);
    for (std::size_t step = 0; step < steps_; ++step) {
      const bool exchanged = (step + 1) % result_.period == 0;
      std::vector<QualitySample> sums(ranks);
      for (std::size_t tensor = 0; tensor < infos_.size(); ++tensor) {
        float scale = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
          gradients[r] = input(first_rank + r, step, tensor, repaired[r]);
          if (!shares_scale_ || !exchanged) continue;
          const auto begin = std::chrono::steady_clock::now();
          auto& shared = dynamic_cast<SharedScale&>(*lanes[r][tensor].compressor);
          scale = std::max(scale, shared.prepare(gradients[r]));
          prepared[r] = seconds_since(begin);
        }
        for (std::size_t r = 0; r < ranks; ++r) {
          Lane& lane = lanes[r][tensor];
          const auto values = gradients[r].values;
          for (std::size_t i = 0; i < values.size(); ++i) lane.period_sum[i] += values[i];
          QualitySample sample;
          if (exchanged) {
            gradients[r].shared_scale = scale;
            sample = exchange(gradients[r], prepared[r], lane);
            std::fill(lane.period_sum.begin(), lane.period_sum.end(), 0.0F);
          } else {
            lane.compressor->hold(gradients[r]);
            std::fill(lane.decoded.begin(), lane.decoded.end(), 0.0F);
          }
          sample.rank = first_rank + r;
          sample.step = step;
          sample.exchanged = exchanged;
          sample.elements = values.size();
          if (exchanged) check_finite(lane, sample, tensor);
          add_drift(values, lane, sample);
          tallies_[tensor].add(sample);
          tallies_[tensor].add_estimation(sample);
          total_.add_estimation(sample);
          if (exchanged) samples_[tensor].push_back(sample);
          sums[r].rank = sample.rank;
          sums[r].step = step;
          sums[r].exchanged = exchanged;
          sums[r] += sample;
          if (advance) advance(values.size());
        }
      }
      for (std::size_t r = 0; r < ranks; ++r) {
        total_.add(sums[r]);
        if (!options_.dump.empty()) dump(first_rank + r, step, lanes[r]);
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) trace_.release(first_rank + r);
  }
  void start(std::size_t rank, std::vector<Lane>& lanes) const {
    for (const TensorInfo& info : infos_) {
      Lane& lane = lanes.emplace_back();
      lane.compressor = make_compressor(
          result_.spec, info,
          {.seed = options_.seed, .rank = static_cast<int>(rank), .threads = options_.threads});
      lane.decoded.resize(info.elements);
      lane.inputs.resize(info.elements);
      lane.difference.resize(info.elements);
      lane.period_sum.resize(info.elements);
    }
  }
  GradientInput input(std::size_t rank, std::size_t step, std::size_t tensor,
                      std::vector<float>& repaired) const {
    const std::size_t recorded = step % trace_.steps();
    GradientInput gradient;
    gradient.values =
        finite_values(trace_.gradient(rank, recorded, tensor), options_.bad_values,
                      fmt::format("{}: rank {}, recorded step {}, tensor '{}'",
                                  trace_.folder().string(), rank, recorded, infos_[tensor].name),
                      repaired);
    gradient.squares = trace_.squares(rank, recorded, tensor);
    gradient.step = step;
    if (options_.steps_per_epoch > 0)
      gradient.epoch = static_cast<double>(step) / static_cast<double>(options_.steps_per_epoch);
    return gradient;
  }
  // @param before  s of prepare()
  QualitySample exchange(const GradientInput& gradient, double before, Lane& lane) {
    const auto begin = std::chrono::steady_clock::now();
    const EncodeReport report = lane.compressor->encode(gradient, payload_.first(payload_.size()));
    const double seconds = seconds_since(begin);
    const std::span<const std::byte> payload = payload_.first(report.encoded_bytes);
    std::fill(lane.decoded.begin(), lane.decoded.end(), 0.0F);
    lane.compressor->decode_add(payload, 1.0F, lane.decoded);
    QualitySample sample;
    if (report.target_elements > 0) {
      sample.selected = report.selected_elements;
      sample.target = report.target_elements;
    }
    sample.elements = lane.decoded.size();
    sample.encoded_bytes = report.encoded_bytes;
    sample.distortion = lane.compressor->distortion(gradient, payload);
    for (const float value : lane.decoded)
      sample.decoded_squares += static_cast<double>(value) * static_cast<double>(value);
    sample.passes_by_elements = report.passes * static_cast<double>(sample.elements);
    sample.seconds = before + seconds;
    const auto zeros =
        static_cast<std::size_t>(std::count(lane.decoded.begin(), lane.decoded.end(), 0.0F));
    if (zeros > 0 && zeros < lane.decoded.size() && !result_.incremental) {
      // c = decoded + residual; without memory, the sum of all inputs since the last exchange.
      const auto residual = lane.compressor->residual();
      std::vector<float>& c = lane.period_sum;
      for (std::size_t i = 0; i < residual.size(); ++i) c[i] = lane.decoded[i] + residual[i];
      sample.overlap_of = lane.decoded.size() - zeros;
      sample.overlap = overlap_with_top_k(c, lane.decoded, work_);
    }
    return sample;
  }
  // The gradients are finite, so a value that is not finite is the compressor's.
  void check_finite(const Lane& lane, const QualitySample& sample, std::size_t tensor) const {
    const std::size_t at = first_non_finite(lane.decoded);
    const double error = sample.distortion.relative();
    if (at == kAllFinite && std::isfinite(error)) return;
    throw RunError(fmt::format(
        "rank {}, step {}, tensor '{}': {}", sample.rank, sample.step,
        printable(infos_[tensor].name),
        at == kAllFinite ? fmt::format("the relative error is {}", error)
                         : fmt::format("element {} is decoded to {}", at, lane.decoded[at])));
  }
  // Writes DUMP/rank-000/step-00000000.safetensors, named as in a trace, with `decoded/NAME` of
  // every tensor and `residual/NAME` of tensors with a residual; compressor, rank and step are
  // metadata.
  void dump(std::size_t rank, std::size_t step, const std::vector<Lane>& lanes) const {
    const fs::path folder = options_.dump / fmt::format("rank-{:03d}", rank);
    std::error_code error;
    fs::create_directory(folder, error);
    if (error) throw SystemError("create " + folder.string(), error.value());
    std::vector<TensorInfo> entries;
    std::vector<std::span<const float>> values;
    const auto add = [&](const char* prefix, const TensorInfo& info, std::span<const float> array) {
      entries.push_back({prefix + info.name, info.shape, info.elements});
      values.push_back(array);
    };
    for (std::size_t i = 0; i < lanes.size(); ++i) add("decoded/", infos_[i], lanes[i].decoded);
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (const auto residual = lanes[i].compressor->residual(); !residual.empty())
        add("residual/", infos_[i], residual);
    TensorFileWriter file(folder / fmt::format("step-{:08d}.safetensors", step), entries,
                          {{"format", "thinpipe-dump"},
                           {"compressor", result_.compressor},
                           {"rank", std::to_string(rank)},
                           {"step", std::to_string(step)}});
    for (const auto& array : values) file.add(array);
    file.commit();
  }
  void add_drift(std::span<const float> values, Lane& lane, QualitySample& sample) const {
    if (result_.incremental) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      lane.inputs[i] += value;
      lane.difference[i] += value - static_cast<double>(lane.decoded[i]);
      sample.drift_inputs += lane.inputs[i] * lane.inputs[i];
      sample.drift_difference += lane.difference[i] * lane.difference[i];
    }
  }

  const Trace& trace_;
  const OfflineOptions& options_;
  CompressorQuality result_;
  std::size_t ranks_, steps_;
  bool shares_scale_ = false;
  std::vector<TensorInfo> infos_;
  std::vector<Tally> tallies_;
  std::vector<std::vector<QualitySample>> samples_;  // by tensor
  Tally total_;
  Buffer<std::byte> payload_;
  std::vector<float> work_;
};

// The samples of one step: sums over tensors by rank, and a tally of single samples.
struct StepSamples {
  std::map<std::size_t, QualitySample> by_rank;
  Tally tally;
};

}  // namespace

QualitySample& QualitySample::operator+=(const QualitySample& other) {
  elements += other.elements;
  encoded_bytes += other.encoded_bytes;
  selected += other.selected;
  target += other.target;
  distortion += other.distortion;
  decoded_squares += other.decoded_squares;
  overlap_of += other.overlap_of;
  overlap += other.overlap;
  passes_by_elements += other.passes_by_elements;
  seconds += other.seconds;
  drift_difference += other.drift_difference;
  drift_inputs += other.drift_inputs;
  return *this;
}

void Tally::add(const QualitySample& sample) {
  elements_ = sample.elements;
  ++steps_;
  bytes_ += sample.encoded_bytes;
  set(last_drifts_, sample.rank, drift(sample));
  if (!sample.exchanged || sample.elements == 0) return;
  const auto elements = static_cast<double>(sample.elements);
  overlap_of_ += sample.overlap_of;
  overlap_ += sample.overlap;
  passes_by_elements_ += sample.passes_by_elements;
  exchanged_elements_ += sample.elements;
  Sent& sent = sent_[sample.step];
  sent.selected += static_cast<double>(sample.selected);
  sent.target += static_cast<double>(sample.target);
  series_.step.push_back(static_cast<double>(sample.step));
  series_.rank.push_back(static_cast<double>(sample.rank));
  if (sample.target > 0) series_.quality.push_back(over(sample.selected, sample.target));
  series_.bytes.push_back(static_cast<double>(sample.encoded_bytes));
  series_.error.push_back(sample.distortion.relative());
  series_.cosine.push_back(cosine(sample));
  series_.overlap.push_back(over(sample.overlap, sample.overlap_of));
  series_.drift.push_back(last_drifts_[sample.rank]);
  series_.passes.push_back(sample.passes_by_elements / elements);
  series_.encode.push_back(sample.seconds);
  set(last_errors_, sample.rank, series_.error.back());
  set(last_cosines_, sample.rank, series_.cosine.back());
  nanoseconds_.push_back(1e9 * sample.seconds / elements);
}

void Tally::add_estimation(const QualitySample& sample) {
  if (sample.target > 0) series_.estimation.push_back(over(sample.selected, sample.target));
}

QualitySummary Tally::summary() const {
  QualitySummary summary;
  summary.elements = elements_;
  summary.encoded_bytes = bytes_;
  const double all = static_cast<double>(elements_) * static_cast<double>(steps_);
  if (all > 0) summary.bits_per_element = 8 * static_cast<double>(bytes_) / all;
  if (bytes_ > 0) summary.compression_ratio = 32 / summary.bits_per_element;
  summary.estimation = distribution(series_.estimation);
  std::vector<double> by_step;
  for (const auto& [step, sent] : sent_)
    if (sent.target > 0) by_step.push_back(sent.selected / sent.target);
  summary.quality = mean_interval(by_step, kSidcoConfidence);
  summary.error_mean = known_mean(series_.error);
  summary.error_last = known_mean(last_errors_);
  summary.cosine_mean = known_mean(series_.cosine);
  summary.cosine_last = known_mean(last_cosines_);
  summary.drift = known_mean(last_drifts_);
  if (overlap_of_ > 0)
    summary.overlap = static_cast<double>(overlap_) / static_cast<double>(overlap_of_);
  if (exchanged_elements_ > 0)
    summary.passes = passes_by_elements_ / static_cast<double>(exchanged_elements_);
  if (!nanoseconds_.empty()) summary.nanoseconds_per_element = median(nanoseconds_);
  summary.series = series_;
  return summary;
}

void make_dump_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(folder.string() + ": cannot be created: " + error.message());
  if (!fs::is_empty(folder, error))
    throw InputError(folder.string() +
                     ": the folder is not empty (expected a new one; a dump overwrites nothing)");
}

std::size_t overlap_with_top_k(std::span<const float> c, std::span<const float> decoded,
                               std::vector<float>& work) {
  work.resize(c.size());
  std::transform(c.begin(), c.end(), work.begin(), [](float value) { return std::fabs(value); });
  const std::size_t sent =
      decoded.size() - static_cast<std::size_t>(std::count(decoded.begin(), decoded.end(), 0.0F));
  if (sent == 0) return 0;
  const auto last = work.begin() + static_cast<std::ptrdiff_t>(sent - 1);
  std::nth_element(work.begin(), last, work.end(), std::greater<>());
  const float smallest = *last;
  std::size_t hits = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    hits += decoded[i] != 0 && std::fabs(c[i]) >= smallest ? 1 : 0;
  return hits;
}

std::size_t ranks_at_once(const Trace& trace, const Spec& spec, const OfflineOptions& options) {
  return Offline(trace, spec, options).at_once();
}

CompressorQuality replay_offline(const Trace& trace, const Spec& spec,
                                 const OfflineOptions& options,
                                 const std::function<void(std::size_t)>& advance) {
  return Offline(trace, spec, options).run(advance);
}

std::vector<StepQuality> quality_by_step(std::span<const TensorQuality> tensors) {
  std::map<std::size_t, StepSamples> steps;
  for (const TensorQuality& tensor : tensors)
    for (const QualitySample& sample : tensor.samples) {
      StepSamples& step = steps[sample.step];
      QualitySample& sum = step.by_rank[sample.rank];
      sum.rank = sample.rank;
      sum.step = sample.step;
      sum += sample;
      step.tally.add_estimation(sample);
    }
  std::vector<StepQuality> result;
  for (auto& [number, step] : steps) {
    for (const auto& [rank, sum] : step.by_rank) step.tally.add(sum);
    result.push_back({number, step.tally.summary()});
  }
  return result;
}

}  // namespace thinpipe
