// SIDCo: the threshold follows from a distribution fitted to the gradient. One pass computes the
// moments, and one compacts the elements above the threshold. With several stages and the
// exponential distribution, the second stage sums the elements above the first threshold, by
// default a quarter of all, without storing them. The same pass compacts those that reach almost
// the second threshold of the last step. If they include all that reach this step's second
// threshold, no further pass is needed. Later stages read only compacted elements.
#include "compressors/methods/sidco.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

// Number of adaptations in a row that a bound has to prevent before the direction is reversed. A
// lower number would often try other stages where the count is at the edge of the tolerated band
// and only sometimes outside it.
constexpr std::int32_t kHeldBeforeReversal = 4;

/// Fraction of the last step's second threshold that an element must reach to be compacted before
/// this step's second threshold is known. If the threshold falls by more than 5 %, a further pass
/// is needed. If magnitudes are exponential and one element in n reaches the threshold, n^0.05
/// times as many are compacted as are needed: 22 % more for n = 50.
constexpr double kReach = 0.95;

class SidcoSelector : public Selector {
 public:
  SidcoSelector(std::size_t elements, const SidcoOptions& options)
      : options_(options),
        elements_(elements),
        adaptation_(
            {.every = options.every, .tolerance = options.tolerance, .rule = options.rule}) {}

  std::size_t max_selected() const override { return elements_; }

  void select(Signal& c, const SelectContext& context, Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, c.size());
    if (!selection.begin(k)) return;
    const int most = std::max(1, static_cast<int>(std::ceil(-std::log2(ratio))));
    const int stages = options_.fixed_stages > 0 ? options_.fixed_stages : adaptation_.stages(most);
    fit(c, ratio, ratio >= options_.first_ratio ? 1 : stages, selection);
    if (options_.fixed_stages == 0) adaptation_.note(selection.count, k, most);
  }

  void reset() override {
    adaptation_.reset();
    reach_ = kMaxKey;
  }
  std::size_t state_size() const override { return SidcoStages::kStateSize; }
  void save(ByteWriter& out) const override { adaptation_.save(out); }
  void load(ByteReader& in) override {
    reset();
    adaptation_.load(in);
  }

 private:
  void fit(Signal& c, double ratio, int stages, Selection& selection) {
    double threshold = first_threshold(c, stages == 1 ? ratio : options_.first_ratio);
    selection.passes = 2;
    // Every later stage keeps the same fraction of the one before.
    const double share = std::pow(ratio / options_.first_ratio, 1.0 / (stages - 1));
    int stage = 2;
    if (stages > 1 && options_.distribution == SidcoDistribution::kExponential &&
        !options_.location_min) {
      if (second_stage(c.values(), share, threshold, selection)) ++stage;
    } else {
      compact(c, threshold, selection);
    }
    for (; stage <= stages && selection.count > 0; ++stage) {
      const auto tail = selection.values.first(selection.count);
      const double location = options_.location_min ? least(tail) : threshold;
      threshold = location + tail_excess(tail, location, share);
      const Cut cut = cut_at(KeyOrder::kMagnitude, key_above(threshold));
      if (stage == stages) {
        selection.choose(cut);
        break;
      }
      selection.count =
          filter(cut, selection.count, selection.positions.data(), selection.values.data());
    }
    selection.threshold = threshold;
  }

  static void compact(Signal& c, double threshold, Selection& selection) {
    selection.count =
        c.compact(key_above(threshold), selection.positions.data(), selection.values.data());
  }

  /// Moves the threshold from the first stage's to the second's, and compacts the elements that
  /// reach it. Returns false if no element reaches the first threshold, with which all stages then
  /// end.
  bool second_stage(std::span<const float> c, double share, double& threshold,
                    Selection& selection) {
    TailMoments tail;
    const std::int32_t first = key_above(threshold);
    const bool together = reach_ != kMaxKey && threads_for(c.size()) == 1;
    if (together) {
      selection.count = compact_with_tail(c, reach_, selection.positions.data(),
                                          selection.values.data(), first, tail);
    } else {
      tail = tail_moments(c, first);
    }
    if (tail.count > 0) {
      const double mean = tail.sum_magnitude / static_cast<double>(tail.count);
      threshold += exponential_excess(mean - threshold, share);
    }
    const std::int32_t limit = key_above(threshold);
    if (together && reach_ <= limit) {
      selection.count = filter(cut_at(KeyOrder::kMagnitude, limit), selection.count,
                               selection.positions.data(), selection.values.data());
    } else {
      Signal all(c);
      compact(all, threshold, selection);
      ++selection.passes;
    }
    reach_ = key_above(kReach * threshold);
    return tail.count > 0;
  }

  double first_threshold(Signal& c, double share) const {
    const auto count = static_cast<double>(c.size());
    switch (options_.distribution) {
      case SidcoDistribution::kExponential:
        return exponential_excess(c.moments().sum_magnitude / count, share);
      case SidcoDistribution::kPareto: {
        const Dispersion spread = c.magnitude_dispersion();
        return pareto_excess(spread.mean(), spread.variance(), share);
      }
      case SidcoDistribution::kGamma: {
        const LogMoments moments = c.log_moments();
        return gamma_excess(moments.sum_magnitude / count,
                            moments.sum_log / static_cast<double>(moments.nonzero), share,
                            options_.exact_gamma);
      }
    }
    return 0;
  }

  double tail_excess(std::span<const float> tail, double location, double share) const {
    if (options_.distribution == SidcoDistribution::kExponential) {
      const double mean = magnitude_moments(tail).sum_magnitude / static_cast<double>(tail.size());
      return exponential_excess(mean - location, share);
    }
    const Dispersion spread = magnitude_dispersion(tail);
    return pareto_excess(spread.mean() - location, spread.variance(), share);
  }

  static double least(std::span<const float> tail) {
    std::int32_t key = kMaxKey;
    for (float value : tail) key = std::min(key, key_of(value, KeyOrder::kMagnitude));
    return static_cast<double>(magnitude_of(key));
  }

  SidcoOptions options_;
  std::size_t elements_;
  SidcoStages adaptation_;
  /// Key of kReach times the last second threshold. It changes the time and the number of passes,
  /// but not the choice, so it is not saved.
  std::int32_t reach_ = kMaxKey;
};

const Registration kSidco{sparse_method({
    .name = "sidco",
    .summary = "magnitudes above a threshold from a fitted distribution, in stages",
    .source = "Abdelmoniem et al., SIDCo, section 2 and alg. 1; error feedback as in appendix B.2; "
              "dist=exp|gamma|gpareto are its E, GP and P",
    .ratio = "0.001",
    .parameters = {choice_parameter("dist", "exp", "distribution of the magnitudes",
                                    {"exp", "gamma", "gpareto"}),
                   choice_parameter("inverse", "approx",
                                    "the gamma distribution's quantile (dist=gamma)",
                                    {"approx", "exact"}),
                   choice_parameter("location", "threshold",
                                    "where a later stage's tail begins; min, as in the published "
                                    "code: at its least magnitude",
                                    {"threshold", "min"}),
                   share_parameter("first", "0.25", "fraction that the first stage keeps"),
                   integer_parameter("stages", "0", "fixed number of stages; 0: adapted", 0, 32),
                   choice_parameter("adapt", "paper",
                                    "rule that adapts the stages; published2 and published3 are "
                                    "modes -2 and -3 of the published code",
                                    {"paper", "climb", "published2", "published3"}),
                   real_parameter("eps", "0.2", "tolerated deviation of the count from k", 0, 1),
                   integer_parameter("q", "5", "compressions between adaptations", 1, 1e6)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_sidco_selector(tensor.elements, sidco_options(parameters));
        },
})};

}  // namespace

FittedShape fit_pareto(double mean, double variance) { return pareto_shape(mean, variance); }

FittedShape fit_gamma(double mean, double mean_log) { return gamma_shape(mean, mean_log); }

double exponential_excess(double mean, double delta) { return mean * -std::log(delta); }

double pareto_excess(double mean, double variance, double delta) {
  return pareto_excess_of(mean, variance, -std::log(delta));
}

double gamma_excess(double mean, double mean_log, double delta, bool exact) {
  const double rarity = -std::log(delta);
  return exact ? gamma_exact_excess_of(mean, mean_log, delta, rarity)
               : gamma_excess_of(mean, mean_log, rarity);
}

int SidcoStages::stages(int most) const { return std::clamp(stages_, 1, most); }

void SidcoStages::note(std::size_t count, std::size_t k, int most) {
  stages_ = stages(most);
  sum_ += static_cast<double>(count) / static_cast<double>(k) - 1;
  if (++seen_ < options_.every) return;
  const double mean = sum_ / seen_;
  const bool out_of_band = std::fabs(mean) > options_.tolerance;
  seen_ = 0;
  sum_ = 0;
  if (goes_wrong(mean)) direction_ = -direction_;
  if (out_of_band) {
    move(mean < 0, most);
  } else {
    moved_ = 0;
    held_ = 0;
  }
  last_ = mean;
}

/// Returns whether the rule reverses its direction, from the change of the mean since the last
/// adaptation.
bool SidcoStages::goes_wrong(double mean) const {
  const double bound = options_.tolerance;
  switch (options_.rule) {
    case SidcoRule::kPaper:
      return false;
    case SidcoRule::kClimb: {
      if (std::fabs(mean) <= bound || moved_ == 0) return false;
      const double gain = moved_ * (mean - last_);  // towards k, or past k
      return gain < (direction_ < 0 ? bound / 2 : -bound / 2);
    }
    case SidcoRule::kPublished2:
      return last_ > kUnknown && std::fabs(mean) > std::fabs(last_);
    case SidcoRule::kPublished3:
      return last_ > kUnknown &&
             !((last_ < -bound && mean > last_) || (last_ > bound && mean < last_));
  }
  return false;
}

void SidcoStages::move(bool more, int most) {
  const auto next = [&] { return std::clamp(stages_ + (more ? 1 : -1) * direction_, 1, most); };
  if (options_.rule == SidcoRule::kClimb && next() == stages_ && ++held_ == kHeldBeforeReversal) {
    direction_ = -direction_;
    held_ = 0;
  }
  if (next() != stages_) held_ = 0;
  moved_ = next() == stages_ ? 0 : more ? 1 : -1;
  stages_ = next();
}

void SidcoStages::reset() { *this = SidcoStages(options_); }

void SidcoStages::save(ByteWriter& out) const {
  for (std::int32_t value : {stages_, direction_, seen_, moved_, held_}) out.put(value);
  out.put(sum_);
  out.put(last_);
}

void SidcoStages::load(ByteReader& in) {
  const auto whole = [&] { return in.get<std::int32_t>("stages"); };
  stages_ = std::max(1, whole());
  direction_ = whole() < 0 ? -1 : 1;
  seen_ = std::clamp(whole(), 0, options_.every - 1);
  moved_ = std::clamp(whole(), -1, 1);
  held_ = std::clamp(whole(), 0, kHeldBeforeReversal - 1);
  sum_ = in.get<double>("stages");
  last_ = in.get<double>("stages");
}

SidcoOptions sidco_options(const Parameters& parameters) {
  const std::string& dist = parameters.choice("dist");
  const std::string& rule = parameters.choice("adapt");
  return {.ratio = ratio_of(parameters),
          .distribution = dist == "gamma"     ? SidcoDistribution::kGamma
                          : dist == "gpareto" ? SidcoDistribution::kPareto
                                              : SidcoDistribution::kExponential,
          .exact_gamma = parameters.choice("inverse") == "exact",
          .location_min = parameters.choice("location") == "min",
          .first_ratio = parameters.real("first"),
          .fixed_stages = static_cast<int>(parameters.integer("stages")),
          .rule = rule == "climb"        ? SidcoRule::kClimb
                  : rule == "published2" ? SidcoRule::kPublished2
                  : rule == "published3" ? SidcoRule::kPublished3
                                         : SidcoRule::kPaper,
          .tolerance = parameters.real("eps"),
          .every = static_cast<int>(parameters.integer("q"))};
}

std::unique_ptr<Selector> make_sidco_selector(std::size_t elements, const SidcoOptions& options) {
  return std::make_unique<SidcoSelector>(elements, options);
}

}  // namespace thinpipe
