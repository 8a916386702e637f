#include "harness/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "harness/predict/codec_calibration.h"
#include "harness/quality/offline.h"
#include "workloads/collectives/collectives.h"
#include "workloads/replay/plan.h"

namespace thinpipe {
namespace {

// Sizes of tensors below which no compression is tried, in elements.
constexpr std::size_t kThresholds[] = {65536, 16384, 4096, 1024};
constexpr double kSlowerByThreshold = 1.01;
// Measuring takes at least this long for each compressor and operation.
constexpr double kMinSeconds = 0.02;

constexpr const char* kDigits = "LeNet-5 on generated digits, 4 workers, SGD";
constexpr const char* kDigitsMomentum = "LeNet-5 on generated digits, 4 workers, SGD with momentum";
constexpr const char* kCharacters = "character LSTM, 4 workers, SGD with momentum";

// Every tensor is a bucket, so that its codec times are on the timeline of the step.
Bucketing by_tensor_bucketing() {
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.limits.first = bucketing.limits.rest = 1;
  return bucketing;
}

// Returns the bytes of a payload of a tensor over those of its sample. They are proportional to the
// elements, except where they depend on a matrix's sides (PowerSGD).
double bytes_factor(const Spec& compressor, const TraceTensor& tensor, const TraceTensor& sampled,
                    double elements) {
  if (!find_method(compressor.name).needs_whole) return elements;
  const auto most_bytes = [&](const TraceTensor& one) {
    const auto made = make_compressor(compressor, {one.name, one.shape, one.elements}, {});
    return static_cast<double>(made->max_encoded_size());
  };
  const double bytes = most_bytes(sampled);
  return bytes > 0 ? most_bytes(tensor) / bytes : elements;
}

ProfiledBucket scaled_bucket(ProfiledBucket bucket, double factor, double bytes_factor) {
  for (double* time : {&bucket.compress, &bucket.decode, &bucket.decode_message}) *time *= factor;
  for (ExchangeWork& exchange : bucket.exchanges) {
    for (double& bytes : exchange.bytes) bytes *= bytes_factor;
    exchange.k *= factor;
    exchange.copies *= factor;
    for (UnitWork& unit : exchange.units) unit = unit * factor;
  }
  return bucket;
}

void add_exchange(const ExchangeWork& more, ExchangeWork& sum) {
  sum.bytes.resize(std::max(sum.bytes.size(), more.bytes.size()));
  for (std::size_t rank = 0; rank < more.bytes.size(); ++rank) sum.bytes[rank] += more.bytes[rank];
  sum.k += more.k;
  sum.copies += more.copies;
  sum.units.insert(sum.units.end(), more.units.begin(), more.units.end());
}

// Adds a bucket's work to another. The i-th exchange of an operation goes together with the i-th of
// that operation, as the payloads of all tensors of a bucket do.
void add_bucket(const ProfiledBucket& more, ProfiledBucket& sum) {
  sum.tensors.insert(sum.tensors.end(), more.tensors.begin(), more.tensors.end());
  sum.compress += more.compress;
  sum.decode += more.decode;
  sum.decode_message += more.decode_message;
  std::vector<bool> taken(sum.exchanges.size(), false);
  for (const ExchangeWork& exchange : more.exchanges) {
    std::size_t i = 0;
    while (i < taken.size() && (taken[i] || sum.exchanges[i].operation != exchange.operation)) ++i;
    if (i == taken.size()) {
      sum.exchanges.push_back({.operation = exchange.operation});
      taken.push_back(false);
    }
    taken[i] = true;
    add_exchange(exchange, sum.exchanges[i]);
  }
}

// Sets the payload size, which is the sum over buckets and exchanges.
CodecProfile with_payload(CodecProfile profile) {
  profile.payload_bytes = 0;
  for (const ProfiledBucket& bucket : profile.buckets)
    for (const ExchangeWork& exchange : bucket.exchanges) profile.payload_bytes += exchange.mean(1);
  return profile;
}

// Returns the key of collectives with which a compressor has the same profile.
std::string profile_key(const CompressorRules& compressor, const Spec& collective) {
  const CollectiveInfo& info = find_collective(collective.name);
  const bool own = info.can(Exchange::kPushPull) || info.can(Exchange::kSparseAllReduce);
  return compressor.to_string() + "|" + (own ? collective.to_string() : "");
}

// Quality on the sampled tensors, and how to weigh these for some tensors of the trace.
class SampledQuality {
 public:
  SampledQuality(CompressorQuality quality, const TensorSample& sample)
      : quality_(std::move(quality)), sample_(sample) {}

  double error(const std::vector<std::size_t>& tensors) const {
    Distortion sum;
    each(tensors, [&](const QualitySample& one, double scale) {
      sum.error_squares += scale * one.distortion.error_squares;
      sum.input_squares += scale * one.distortion.input_squares;
    });
    return sum.relative();
  }

  std::optional<double> estimation(const std::vector<std::size_t>& tensors) const {
    double selected = 0, target = 0;
    each(tensors, [&](const QualitySample& one, double scale) {
      selected += scale * static_cast<double>(one.selected);
      target += scale * static_cast<double>(one.target);
    });
    return target > 0 ? std::optional(selected / target) : std::nullopt;
  }

 private:
  template <typename Add>
  void each(const std::vector<std::size_t>& tensors, const Add& add) const {
    for (const std::size_t tensor : tensors) {
      const auto& [sampled, scale] = sample_.like(tensor);
      for (const QualitySample& one : quality_.tensors.at(sampled).samples) add(one, scale);
    }
  }

  CompressorQuality quality_;
  const TensorSample& sample_;
};

class Adviser {
 public:
  Adviser(const AdviceRequest& request, const Trace& trace)
      : request_(request),
        trace_(trace),
        sample_(trace, request.bad_values),
        predictor_(trace, request.sweep),
        buckets_(bucket_tensors(trace.tensors(), advised_bucketing().limits)),
        begin_(now_seconds()),
        all_(trace.tensors().size()) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = i;
    for (const CompressorRules& compressor : candidates())
      unmeasured_ += measurements_of(compressor);
  }

  Advice advise(const std::function<void(double, const std::string&)>& progress) {
    leave_out_collectives();
    const double work = unmeasured_;
    for (const CompressorRules& compressor : candidates()) {
      const std::string name = compressor.to_string();
      const bool late = now_seconds() - begin_ > request_.seconds;
      progress(1 - unmeasured_ / work, name);
      if (!late || request_.sweep.is_baseline(compressor)) {
        measure(compressor);
        continue;
      }
      advice_.left_out.emplace_back(
          name, "not measured within " + format_time(request_.seconds) + " (--seconds)");
      unmeasured_ -= measurements_of(compressor);
    }
    for (const CompressorRules& compressor : candidates()) rank(compressor);
    for (SpecAdvice& spec : advice_.specs) {
      spec.step.none = fastest_step(kUncompressed);
      spec.step.bf16 = fastest_step(parse_spec("bf16"));
      spec.break_even = break_even(spec.point);
    }
    std::ranges::sort(advice_.specs, {},
                      [](const SpecAdvice& one) { return one.step.prediction.step; });
    for (const TensorClass tensor_class : kTensorClasses) add_class(tensor_class);
    choose_threshold(advice_.recommended(request_.max_error));
    advice_.sampled_tensors = sample_.trace().tensors().size();
    advice_.sampled_elements = static_cast<double>(sample_.trace().elements());
    return std::move(advice_);
  }

 private:
  // Returns the number of a compressor's measurements: of its codec with each collective, and of
  // its quality.
  double measurements_of(const CompressorRules& compressor) const {
    return 1.0 + static_cast<double>(std::ranges::count_if(
                     request_.sweep.collectives,
                     [&](const Spec& collective) { return serves_all(collective, compressor); }));
  }

  // Names collectives without a model. @throws InputError where none has one
  void leave_out_collectives() {
    std::string reasons;
    for (const Spec& collective : request_.sweep.collectives) {
      const std::string why = predictor_.refusal(point(kUncompressed, collective));
      if (why.empty()) continue;
      advice_.left_out.emplace_back(collective.to_string(), why);
      if (reasons.find(why) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + why;
    }
    if (advice_.left_out.size() == request_.sweep.collectives.size())
      throw InputError("no step can be predicted: " + reasons + "; `thinpipe run` can measure it");
  }

  // Returns the baselines, then the other compressors.
  std::vector<CompressorRules> candidates() const {
    std::vector<CompressorRules> all = request_.sweep.baselines;
    for (const CompressorRules& compressor : request_.sweep.compressors)
      if (std::ranges::find(all, compressor) == all.end()) all.push_back(compressor);
    return all;
  }

  SweepPoint point(const CompressorRules& compressor, const Spec& collective) const {
    SweepPoint point;
    point.compressor = compressor;
    point.link = request_.sweep.links.front();
    point.ranks = request_.sweep.ranks.front();
    point.collective = collective;
    point.bucketing = advised_bucketing();
    return point;
  }

  // Returns the points of the compressor that have a model and a measured profile.
  std::vector<SweepPoint> points_of(const CompressorRules& compressor) const {
    std::vector<SweepPoint> points;
    for (const Spec& collective : request_.sweep.collectives)
      if (serves_all(collective, compressor) &&
          profiles_.contains(profile_key(compressor, collective)) &&
          !(request_.sweep.is_baseline(compressor) && find_collective(collective.name).lossy))
        points.push_back(point(compressor, collective));
    return points;
  }

  void measure(const CompressorRules& compressor) {
    for (const Spec& collective : request_.sweep.collectives) {
      if (!serves_all(collective, compressor)) continue;
      const double left = request_.seconds - (now_seconds() - begin_);
      const double share = std::max(kMinSeconds, left / std::max(1.0, unmeasured_));
      unmeasured_ -= 1;
      if (!predictor_.refusal(point(compressor, collective)).empty()) continue;
      const std::string key = profile_key(compressor, collective);
      if (!profiles_.contains(key))
        profiles_.emplace(
            key, profile_by_tensor(sample_, trace_, compressor, collective, request_.sweep, share));
      predictor_.know(compressor, advised_bucketing(), collective,
                      joined_profile(profiles_.at(key), buckets_));
    }
    qualities_.emplace(compressor.to_string(),
                       SampledQuality(quality_of(compressor.specs().front()), sample_));
    unmeasured_ -= 1;
  }

  CompressorQuality quality_of(const Spec& compressor) const {
    const TraceTensor& first = sample_.trace().tensors().front();
    const auto made = make_compressor(compressor, {first.name, first.shape, first.elements}, {});
    OfflineOptions options;
    options.seed = request_.sweep.seed;
    options.threads = request_.sweep.threads;
    options.bad_values = request_.bad_values;
    options.steps = std::max<std::size_t>(sample_.trace().steps(), made->period());
    return replay_offline(sample_.trace(), compressor, options);
  }

  std::optional<Prediction> predict(const SweepPoint& point) {
    return predictor_.predict(point, request_.machines, request_.codecs);
  }

  // Returns the prediction of a profile that is not the predictor's.
  std::optional<Prediction> predict(const SweepPoint& point, const CodecProfile& profile) {
    if (request_.codecs == CodecTimes::kTimed)
      return predictor_.predict(point, request_.machines, profile);
    return predictor_.predict(point, {.network = request_.machines.network, .cores = 0},
                              at_memory_pace(profile, trace_, compute_device(trace_).value()));
  }

  // Adds the compressor with its fastest collective.
  void rank(const CompressorRules& compressor) {
    std::optional<SpecAdvice> best;
    for (const SweepPoint& point : points_of(compressor)) {
      const auto prediction = predict(point);
      if (!prediction || (best && prediction->step >= best->step.prediction.step)) continue;
      best.emplace();
      best->point = point;
      best->step.prediction = *prediction;
    }
    if (!best) return;
    if (request_.codecs == CodecTimes::kMemory)
      best->on_cpu = predictor_.predict(best->point, request_.machines).value().step;
    const SampledQuality& quality = qualities_.at(compressor.to_string());
    best->is_baseline = request_.sweep.is_baseline(compressor);
    best->error = quality.error(all_);
    best->estimation = quality.estimation(all_);
    best->trainings = trainings_with(compressor.specs().front());
    advice_.specs.push_back(std::move(*best));
  }

  // Returns s of the fastest step of a baseline; nothing if it is none of the request's.
  std::optional<double> fastest_step(const CompressorRules& baseline, double rate = 0) {
    if (!request_.sweep.is_baseline(baseline)) return std::nullopt;
    std::optional<double>& fastest = baseline_steps_[{baseline.to_string(), rate}];
    if (fastest) return fastest;
    for (SweepPoint point : points_of(baseline)) {
      if (rate > 0) point.link = with_rate(point.link, rate);
      if (const auto prediction = predict(point))
        fastest = std::min(prediction->step, fastest.value_or(prediction->step));
    }
    return fastest;
  }

  PredictedBreakEven break_even(SweepPoint point) {
    const double most = predictor_.highest_rate(point);
    const LinkSpec link = point.link;
    const auto gain = [&](double rate) {
      point.link = with_rate(link, rate);
      const auto own = predict(point);
      std::optional<double> without;
      for (const CompressorRules& baseline : request_.sweep.baselines)
        if (const auto step = fastest_step(baseline, rate))
          without = std::min(*step, without.value_or(*step));
      return own && without ? *without - own->step : 0;
    };
    // Large models take milliseconds for a prediction.
    return predicted_break_even(gain, {.most = most, .each_decade = 2, .precision = 0.02});
  }

  void add_class(TensorClass tensor_class) {
    ClassAdvice advice;
    advice.tensor_class = tensor_class;
    const std::vector<std::size_t> tensors = sample_.tensors_of(tensor_class);
    if (tensors.empty()) return;
    advice.tensors = tensors.size();
    for (const std::size_t tensor : tensors)
      advice.elements += static_cast<double>(trace_.tensors()[tensor].elements);
    for (const SpecAdvice& spec : advice_.specs) {
      std::optional<ClassAdvice::Row> best;
      for (SweepPoint point : points_of(spec.point.compressor)) {
        const CodecProfile& by_tensor =
            profiles_.at(profile_key(point.compressor, point.collective));
        point.bucketing = {};
        const auto alone = predict(point, joined_profile(by_tensor, {tensors}));
        if (!alone) continue;
        const double seconds = alone->compress + alone->exchange + alone->decode;
        if (best && seconds >= best->seconds) continue;
        best = {point.compressor.to_string(), point.collective.to_string(), seconds, 0};
      }
      if (!best) continue;
      best->error = qualities_.at(best->compressor).error(tensors);
      advice.rows.push_back(std::move(*best));
    }
    std::ranges::sort(advice.rows, {}, &ClassAdvice::Row::seconds);
    advice_.classes.push_back(std::move(advice));
  }

  // Finds the largest size below which tensors may go uncompressed.
  void choose_threshold(const std::vector<const SpecAdvice*>& recommended) {
    if (recommended.empty()) return;
    for (const std::size_t threshold : kThresholds) {
      std::vector<std::size_t> small;
      double elements = 0;
      for (const std::size_t tensor : all_)
        if (const std::size_t size = trace_.tensors()[tensor].elements; size < threshold) {
          small.push_back(tensor);
          elements += static_cast<double>(size);
        }
      if (small.empty() || small.size() == all_.size()) continue;
      if (!std::ranges::all_of(recommended, [&](const SpecAdvice* spec) {
            return may_go_uncompressed(*spec, small);
          }))
        continue;
      advice_.min_elements = threshold;
      advice_.uncompressed_elements = elements;
      return;
    }
  }

  // Returns whether the step takes at most 1 % longer with these tensors uncompressed.
  bool may_go_uncompressed(const SpecAdvice& spec, const std::vector<std::size_t>& tensors) {
    const auto uncompressed = profiles_.find(profile_key(kUncompressed, spec.point.collective));
    if (uncompressed == profiles_.end()) return false;
    const CodecProfile& by_tensor =
        profiles_.at(profile_key(spec.point.compressor, spec.point.collective));
    const auto step = predict(
        spec.point,
        joined_profile(with_tensors_of(by_tensor, uncompressed->second, tensors), buckets_));
    return step && step->step <= kSlowerByThreshold * spec.step.prediction.step;
  }

  const AdviceRequest& request_;
  const Trace& trace_;
  TensorSample sample_;
  Predictor predictor_;
  std::vector<std::vector<std::size_t>> buckets_;
  double begin_;
  double unmeasured_ = 0;                         // measurements to come
  std::vector<std::size_t> all_;                  // tensors
  std::map<std::string, CodecProfile> profiles_;  // by tensor
  std::map<std::string, SampledQuality> qualities_;
  std::map<std::pair<std::string, double>, std::optional<double>> baseline_steps_;  // by rate
  Advice advice_;
};

}  // namespace

const std::vector<TrainingResult>& training_results() {
  static const std::vector<TrainingResult> kResults = {
      {"topk:ratio=0.01", "error-feedback", kDigits, "topk 1 %", "93.52 +-1.25 %", "no compression",
       "93.16 +-0.79 %"},
      {"topk:ratio=0.001", "error-feedback", kDigits, "topk 0.1 %", "90.90 +-0.60 %",
       "no compression", "93.16 +-0.79 %"},
      {"sbc:p=0.01", "error-feedback", kDigits, "sbc 1 %", "93.64 +-1.00 %", "no compression",
       "93.16 +-0.79 %"},
      {"topk:ratio=0.01", "ef-momentum", kDigitsMomentum, "topk 1 %", "91.16 +-1.88 %",
       "no compression", "94.50 +-0.68 %"},
      {"topk:ratio=0.001", "ef-momentum", kDigitsMomentum, "topk 0.1 %", "65.36 +-10.06 %",
       "no compression", "94.50 +-0.68 %"},
      {"sbc:p=0.01", "ef-momentum", kDigitsMomentum, "sbc 1 %", "56.06 +-34.05 %", "no compression",
       "94.50 +-0.68 %"},
      {"dgc:ratio=0.001,warmup=0.25/0.0625/0.015625/0.004", "dgc-fig3",
       "LeNet-5 on generated digits, 4 workers, SGD, local clip 2", "\\+ warm-up: DGC",
       "90.52 +-1.35 %", "baseline", "94.78 +-0.88 %"},
      {"int8", "3lc-accuracy", kDigits, "8-bit int", "93.67 +-1.37 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"mqe1bit", "3lc-accuracy", kDigits, "MQE 1-bit int", "93.67 +-2.14 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"3lc", "3lc-accuracy", kDigits, "3LC (s=1.00)", "93.77 +-0.76 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"3lc:s=1.75", "3lc-accuracy", kDigits, "3LC (s=1.75)", "94.17 +-1.62 %", "32-bit float",
       "93.67 +-1.37 %"},
      {"blockint4:hadamard=true", "modern", kCharacters, "int4 + Hadamard", "8.31 (8.24 to 8.39)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"powersgd:rank=4", "modern", kCharacters, "PowerSGD rank 4", "8.68 (8.56 to 8.8)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"topk:ratio=0.01", "modern", kCharacters, "Top-k 1 %", "10.7 (10.1 to 11.3)",
       "no compression", "8.38 (8.29 to 8.47)"},
      {"demo", "modern", "character LSTM, 4 workers, signum", "DeMo", "7.95 (7.1 to 8.79)",
       "no compression", "8.38 (8.29 to 8.47)"},
  };
  return kResults;
}

std::vector<TrainingResult> trainings_with(const Spec& compressor) {
  const std::string wanted = parameters_of(compressor).text();
  std::vector<TrainingResult> found;
  for (const TrainingResult& result : training_results())
    if (parameters_of(parse_spec(result.compressor)).text() == wanted) found.push_back(result);
  return found;
}

std::string to_string(const TrainingResult& result) {
  const bool accuracy = std::string_view(result.figure).ends_with('%');
  const auto figure = [](std::string text) {
    const std::size_t at = text.find("+-");
    return at == std::string::npos ? text : text.replace(at, 2, "± ");
  };
  return fmt::format("{} {}, without compression {}: {} (recipe {})",
                     accuracy ? "accuracy" : "perplexity", figure(result.figure),
                     figure(result.baseline_figure), result.training, result.recipe);
}

CodecProfile profile_by_tensor(const TensorSample& sample, const Trace& trace,
                               const CompressorRules& compressor, const Spec& collective,
                               const SweepOptions& options, double seconds) {
  CodecProfile measured = measure_codec(sample.trace(), compressor, options,
                                        {.bucketing = by_tensor_bucketing(),
                                         .collective = collective,
                                         .seconds = seconds,
                                         .fewest_steps = 2,
                                         .most_steps = 6});
  std::vector<const ProfiledBucket*> of_sampled(sample.trace().tensors().size());
  for (const ProfiledBucket& bucket : measured.buckets)
    of_sampled.at(bucket.tensors.at(0)) = &bucket;
  CodecProfile whole = measured;
  whole.buckets.clear();
  whole.elements = static_cast<double>(trace.elements());
  whole.hold *= whole.elements / std::max(1.0, static_cast<double>(sample.trace().elements()));
  for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
    const auto& [sampled, scale] = sample.like(tensor);
    const double bytes = compressor.uniform()
                             ? bytes_factor(compressor.specs().front(), trace.tensors()[tensor],
                                            sample.trace().tensors()[sampled], scale)
                             : scale;
    whole.buckets.push_back(scaled_bucket(*of_sampled.at(sampled), scale, bytes));
    whole.buckets.back().tensors = {tensor};
  }
  return with_payload(std::move(whole));
}

CodecProfile joined_profile(const CodecProfile& by_tensor,
                            const std::vector<std::vector<std::size_t>>& groups) {
  CodecProfile joined = by_tensor;
  joined.buckets.clear();
  for (const std::vector<std::size_t>& tensors : groups) {
    ProfiledBucket& bucket = joined.buckets.emplace_back();
    for (const std::size_t tensor : tensors) add_bucket(by_tensor.buckets.at(tensor), bucket);
  }
  return with_payload(std::move(joined));
}

CodecProfile with_tensors_of(CodecProfile by_tensor, const CodecProfile& other,
                             const std::vector<std::size_t>& tensors) {
  for (const std::size_t tensor : tensors) by_tensor.buckets.at(tensor) = other.buckets.at(tensor);
  return with_payload(std::move(by_tensor));
}

const SpecAdvice* Advice::fastest() const {
  return fastest_within(std::numeric_limits<double>::infinity());
}

const SpecAdvice* Advice::fastest_within(double max_error) const {
  const SpecAdvice* chosen = nullptr;
  double shortest = 0;
  for (const SpecAdvice& spec : specs) {
    if (spec.is_baseline || spec.error > max_error) continue;
    const double step = spec.step.prediction.step;
    if (chosen == nullptr) shortest = step;
    // All have the same baselines, so that the speed-up falls with each.
    if (spec.step.speed_up().value_or(0) < kWorthSaying || step > kEquallyFast * shortest) break;
    if (chosen == nullptr || spec.error < chosen->error) chosen = &spec;
  }
  return chosen;
}

std::vector<const SpecAdvice*> Advice::recommended(double max_error) const {
  std::vector<const SpecAdvice*> chosen;
  for (const SpecAdvice* spec : {fastest(), fastest_within(max_error)})
    if (spec != nullptr && (chosen.empty() || chosen.front() != spec)) chosen.push_back(spec);
  return chosen;
}

Bucketing advised_bucketing() {
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.codec_beside = true;
  return bucketing;
}

Advice advise(const AdviceRequest& request, const Trace& trace,
              const std::function<void(double, const std::string&)>& progress) {
  return Adviser(request, trace).advise(progress);
}

}  // namespace thinpipe
