// MSTopK's selection. Three rounds are counted in one pass over their seven possible thresholds; as
// soon as that is worth it, what can still be sent is compacted and later rounds look at that only.
#include "compressors/select/mstopk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/count.h"
#include "compressors/kernels/moments.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

constexpr int kLevels = 3;              // rounds of one count
constexpr std::size_t kCandidates = 7;  // 2^kLevels - 1 thresholds
static_assert(kCandidates <= kMaxLimits);

/// The bracket [low, high] of q, and what was counted at its ends.
class Bisection {
 public:
  Bisection(std::size_t k, double mean, double greatest)
      : k_(k), mean_(mean), range_(std::max(0.0, greatest - mean)) {}

  /// Up to kLevels rounds, all counted in one pass over `x`.
  void refine(std::span<const float> x, int rounds) {
    std::array<std::int32_t, kCandidates> limits;
    std::array<std::size_t, kCandidates> counts;
    const double step = (high_ - low_) / (kCandidates + 1);
    const double from = low_;
    // Exact: q has one binary digit a round.
    const auto threshold = [&](std::size_t i) {
      return mean_ + (from + static_cast<double>(i) * step) * range_;
    };
    for (std::size_t i = 0; i < kCandidates; ++i) limits[i] = key_reaching(threshold(i + 1));
    count_magnitudes(x, limits, counts);
    std::size_t first = 0;
    std::size_t last = kCandidates + 1;
    for (int round = 0; round < rounds; ++round) {
      const std::size_t middle = (first + last) / 2;
      if (counts[middle - 1] <= k_) {
        last = middle;
        upper_ = limits[middle - 1];
        has_upper_ = true;
      } else {
        first = middle;
        lower_ = limits[middle - 1];
        lower_threshold_ = threshold(middle);
        lower_count_ = counts[middle - 1];
      }
    }
    high_ = from + static_cast<double>(last) * step;
    low_ = from + static_cast<double>(first) * step;
  }

  bool has_lower() const { return lower_count_ > 0; }
  bool reaches_lower(std::int32_t key) const { return key >= lower_; }
  bool reaches_upper(std::int32_t key) const { return has_upper_ && key >= upper_; }
  std::int32_t lower() const { return lower_; }  ///< limit; 0 while none was found
  double lower_threshold() const { return lower_threshold_; }

 private:
  std::size_t k_;
  double mean_;
  double range_;
  double low_ = 0;
  double high_ = 1;
  std::int32_t lower_ = 0;
  std::int32_t upper_ = kMaxKey;
  bool has_upper_ = false;
  double lower_threshold_ = 0;
  std::size_t lower_count_ = 0;
};

class MsTopKSelector : public Selector {
 public:
  MsTopKSelector(std::size_t elements, MsTopKOptions options)
      : options_(std::move(options)), elements_(elements) {}

  std::size_t max_selected() const override {
    return target_count(options_.ratio.greatest(), elements_);
  }

  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    Signal signal(c);
    select_signal(signal, context, selection);
  }
  void select_signal(Signal& signal, const SelectContext& context, Selection& selection) override {
    const std::size_t k = target_count(options_.ratio.at(context.epoch), signal.size());
    selection.target = k;
    selection.count = 0;
    selection.passes = 0;
    selection.threshold = 0;
    if (k == 0) return;
    const Moments moments = signal.moments();
    const auto c = signal.values();
    const auto keep = [&](std::int32_t limit) {
      selection.count = compact(c, KeyOrder::kMagnitude, limit, selection.positions.data(),
                                selection.values.data());
      ++selection.passes;
    };
    const double mean = moments.sum_magnitude / static_cast<double>(c.size());
    Bisection bisection(k, mean, static_cast<double>(moments.max_magnitude));
    bisection.refine(c, std::min(kLevels, options_.rounds));
    selection.passes = 2;
    // Every threshold to come is at least the lower one, or else the mean.
    keep(bisection.has_lower() ? bisection.lower() : key_reaching(mean));
    for (int done = kLevels; done < options_.rounds; done += kLevels) {
      bisection.refine(selection.values.first(selection.count),
                       std::min(kLevels, options_.rounds - done));
    }
    if (!bisection.has_lower()) keep(0);
    selection.threshold = bisection.lower_threshold();
    take(bisection, k, context.step, selection);
  }

 private:
  /// All that reach the upper limit, and neighbours of those between the limits.
  void take(const Bisection& bisection, std::size_t k, std::uint64_t step,
            Selection& selection) const {
    std::size_t above = 0;
    std::size_t reach = 0;
    for (float value : selection.values.first(selection.count)) {
      const std::int32_t key = key_of(value, KeyOrder::kMagnitude);
      above += bisection.reaches_upper(key) ? 1 : 0;
      reach += bisection.reaches_lower(key) ? 1 : 0;
    }
    const std::size_t missing = k - above;
    SplitMix64 random(SplitMix64::mix(options_.seed ^ SplitMix64::mix(step)));
    const std::size_t start = random.below(reach - above - missing + 1);
    std::size_t kept = 0;
    std::size_t between = 0;
    for (std::size_t i = 0; i < selection.count; ++i) {
      const float value = selection.values[i];
      const std::int32_t key = key_of(value, KeyOrder::kMagnitude);
      const bool sure = bisection.reaches_upper(key);
      const bool candidate = !sure && bisection.reaches_lower(key);
      const bool taken = candidate && between >= start && between < start + missing;
      between += candidate ? 1 : 0;
      selection.positions[kept] = selection.positions[i];
      selection.values[kept] = value;
      kept += sure || taken ? 1 : 0;
    }
    selection.count = kept;
  }

  MsTopKOptions options_;
  std::size_t elements_;
};

}  // namespace

std::unique_ptr<Selector> make_mstopk_selector(std::size_t elements, const MsTopKOptions& options) {
  return std::make_unique<MsTopKSelector>(elements, options);
}

}  // namespace thinpipe
