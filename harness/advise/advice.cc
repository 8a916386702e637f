#include "harness/advise/advice.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "harness/advise/tensor_profiles.h"
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
    if (const SpecAdvice* best = advice_.fastest()) choose_threshold(*best);
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
      throw InputError("no step can be predicted: " + reasons);
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
  void choose_threshold(const SpecAdvice& best) {
    const std::string uncompressed = profile_key(kUncompressed, best.point.collective);
    if (!profiles_.contains(uncompressed)) return;
    const CodecProfile& by_tensor =
        profiles_.at(profile_key(best.point.compressor, best.point.collective));
    for (const std::size_t threshold : kThresholds) {
      std::vector<std::size_t> small;
      double elements = 0;
      for (const std::size_t tensor : all_)
        if (const std::size_t size = trace_.tensors()[tensor].elements; size < threshold) {
          small.push_back(tensor);
          elements += static_cast<double>(size);
        }
      if (small.empty() || small.size() == all_.size()) continue;
      const auto step = predict(
          best.point,
          joined_profile(with_tensors_of(by_tensor, profiles_.at(uncompressed), small), buckets_));
      if (!step || step->step > kSlowerByThreshold * best.step.prediction.step) continue;
      advice_.min_elements = threshold;
      advice_.uncompressed_elements = elements;
      return;
    }
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
