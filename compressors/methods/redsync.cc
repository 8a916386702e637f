// RedSync: a threshold t(q) at fraction q of the way from the mean to the greatest magnitude.
// Bisection makes at most three probes, none below t(1/8). The elements above t(1/8) are therefore
// compacted first, and the probes count only among these elements.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

constexpr double kWidth = 0.2;      // bisection ends when the bracket is no wider
constexpr double kLowest = 0.125;   // of its probes: 1/2, 1/4, 1/8
constexpr double kHighest = 0.875;  // 1/2, 3/4, 7/8
constexpr std::size_t kMaxTrims = 32;

class RedSyncSelector : public Selector {
 public:
  RedSyncSelector(std::size_t elements, RedSyncOptions options)
      : options_(std::move(options)), elements_(elements) {}

  std::size_t max_selected() const override { return elements_; }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const std::size_t k = target_count(options_.ratio.at(context.epoch), signal.size());
    if (!selection.begin(k)) return;
    const Moments moments = signal.moments();
    const auto c = signal.values();
    mean_ = moments.sum_magnitude / static_cast<double>(c.size());
    range_ = static_cast<double>(moments.max_magnitude) - mean_;
    selection.passes = 1;
    if (options_.trim) {
      trim(c, k, selection);
    } else {
      bisect(c, k, selection);
    }
  }

 private:
  double threshold(double q) const { return mean_ + q * range_; }

  void bisect(std::span<const float> c, std::size_t k, Selection& selection) const {
    // The mean of equal magnitudes may be rounded above them; thresholds then fall as q grows.
    const std::int32_t least =
        std::min(key_above(threshold(kLowest)), key_above(threshold(kHighest)));
    selection.count = compact(c, KeyOrder::kMagnitude, least, selection.positions.data(),
                              selection.values.data());
    ++selection.passes;
    double low = 0;
    double high = 1;
    std::int32_t limit = least;
    while (high - low > kWidth) {
      const double q = (low + high) / 2;
      selection.threshold = threshold(q);
      limit = key_above(selection.threshold);
      const std::size_t z =
          count_at_least(selection.values.first(selection.count), KeyOrder::kMagnitude, limit);
      if (k < z && z < 2 * k) break;
      (2 * z < k ? high : low) = q;
    }
    selection.choose(cut_at(KeyOrder::kMagnitude, limit));
  }

  void trim(std::span<const float> c, std::size_t k, Selection& selection) const {
    std::array<std::int32_t, kMaxLimits> limits;
    std::array<std::size_t, kMaxLimits> counts;
    std::int32_t limit = 0;
    bool enough = false;
    for (std::size_t first = 0; !enough && first < kMaxTrims; first += kMaxLimits) {
      for (std::size_t i = 0; i < kMaxLimits; ++i) {
        limits[i] = key_above(trimmed(first + i));
      }
      count_magnitudes(c, limits, counts);
      ++selection.passes;
      for (std::size_t i = 0; !enough && i < kMaxLimits; ++i) {
        selection.threshold = trimmed(first + i);
        limit = limits[i];
        enough = counts[i] >= k;
      }
      if (range_ <= 0) break;  // all thresholds are the same
    }
    selection.count = compact(c, KeyOrder::kMagnitude, limit, selection.positions.data(),
                              selection.values.data());
    ++selection.passes;
  }
  /// Tenths are divided once, so that 0.4 is the double nearest to 0.4.
  double trimmed(std::size_t i) const { return threshold((8 - 2 * static_cast<double>(i)) / 10); }

  RedSyncOptions options_;
  std::size_t elements_;
  double mean_ = 0;   ///< m, of the last tensor
  double range_ = 0;  ///< M - m
};

const Registration kRedSync{sparse_method({
    .name = "redsync",
    .summary = "magnitudes above a threshold bisected between mean and maximum",
    .source = "Fang et al., RedSync, 2019, algs. 2 (variant=trim) and 3; error feedback as in "
              "SIDCo appendix B.2",
    .parameters = {choice_parameter("variant", "bisect", "how the threshold is found",
                                    {"bisect", "trim"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_redsync_selector(
              tensor.elements,
              {.ratio = ratio_of(parameters), .trim = parameters.choice("variant") == "trim"});
        },
})};

}  // namespace

std::unique_ptr<Selector> make_redsync_selector(std::size_t elements,
                                                const RedSyncOptions& options) {
  return std::make_unique<RedSyncSelector>(elements, options);
}

}  // namespace thinpipe
