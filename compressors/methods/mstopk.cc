// MSTopK: approximate top-k by bisecting the threshold, designed for machines that count fast. One
// pass counts the elements above seven candidate thresholds, which answers three rounds of
// bisection. As soon as compaction is cheaper than another such pass, the elements that can still
// be sent are compacted. Later rounds then count only the compacted keys between the bracket's two
// thresholds.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

constexpr int kTriedLevels = 3;         // rounds per counting pass
constexpr std::size_t kCandidates = 7;  // 2^kTriedLevels - 1 thresholds
static_assert(kCandidates <= kMaxLimits);

constexpr int kMaxCounts = 3;  // passes that count
/// If at most one in kCompacted elements, or 2 k, can still be sent, they are compacted instead of
/// counted once more, because their compaction then costs as much as a counting pass.
constexpr std::size_t kCompacted = 16;

/// The bracket [low, high] of q, and the counts at its ends.
class Bisection {
 public:
  Bisection(std::size_t k, double mean, double greatest)
      : k_(k), mean_(mean), range_(std::max(0.0, greatest - mean)) {}

  /// Runs up to kTriedLevels rounds, all counted in one pass over `x`.
  void refine(std::span<const float> x, int rounds) {
    std::array<std::int32_t, kCandidates> limits;
    std::array<std::size_t, kCandidates> counts;
    const double from = low_;
    const double step = (high_ - low_) / (kCandidates + 1);
    for (std::size_t i = 0; i < kCandidates; ++i) {
      limits[i] = key_reaching(threshold(from + static_cast<double>(i + 1) * step));
    }
    count_magnitudes(x, limits, counts);
    for (int round = 0; round < rounds; ++round) {
      // Exact: q has one binary digit a round.
      const auto middle = static_cast<std::size_t>((next() - from) / step);
      advance(counts[middle - 1]);
    }
  }

  /// Runs one round of bisection. Counts only in `keys`, which are the keys from floor() to most(),
  /// then narrows `keys` to the new bracket.
  void refine(std::span<std::int32_t>& keys) {
    advance(upper_count_ + count_keys(keys, key_reaching(threshold(next()))));
    keys = keys.first(keep_keys(keys, floor(), most()));
  }

  bool has_lower() const { return lower_count_ > 0; }
  double lower_threshold() const { return lower_threshold_; }
  std::size_t lower_count() const { return lower_count_; }  ///< elements that reach it
  std::size_t upper_count() const { return upper_count_; }
  /// Returns the lower threshold's limit, or the mean's while no lower threshold was found.
  std::int32_t floor() const { return has_lower() ? lower_ : key_reaching(mean_); }
  /// Returns the greatest key that does not reach the upper threshold.
  std::int32_t most() const { return has_upper_ ? upper_ - 1 : kMaxKey; }

 private:
  double threshold(double q) const { return mean_ + q * range_; }
  double next() const { return (low_ + high_) / 2; }

  /// Ends a round: `count` elements reach the threshold at next().
  void advance(std::size_t count) {
    const double q = next();
    const std::int32_t limit = key_reaching(threshold(q));
    if (count <= k_) {
      high_ = q;
      upper_ = limit;
      upper_count_ = count;
      has_upper_ = true;
    } else {
      low_ = q;
      lower_ = limit;
      lower_threshold_ = threshold(q);
      lower_count_ = count;
    }
  }

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
  std::size_t upper_count_ = 0;
};

class MsTopKSelector : public Selector {
 public:
  MsTopKSelector(std::size_t elements, MsTopKOptions options)
      : options_(std::move(options)), elements_(elements), keys_(elements + kCompactSlack) {}

  std::size_t max_selected() const override {
    return target_count(options_.ratio.greatest(), elements_);
  }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const std::size_t k = target_count(options_.ratio.at(context.epoch), signal.size());
    if (!selection.begin(k)) return;
    const Moments moments = signal.moments();
    const auto c = signal.values();
    const auto keep = [&](std::int32_t limit) {
      selection.count = compact(c, KeyOrder::kMagnitude, limit, selection.positions.data(),
                                selection.values.data());
      ++selection.passes;
    };
    const double mean = moments.sum_magnitude / static_cast<double>(c.size());
    Bisection bisection(k, mean, static_cast<double>(moments.max_magnitude));
    selection.passes = 1;
    int left = options_.rounds;
    // The number of remaining elements is unknown until a lower threshold was found.
    const std::size_t worth_it = std::max(2 * k, c.size() / kCompacted);
    for (int pass = 0; left > 0 && pass < kMaxCounts; ++pass) {
      if (bisection.has_lower() && bisection.lower_count() <= worth_it) break;
      const int rounds = std::min(kTriedLevels, left);
      bisection.refine(c, rounds);
      left -= rounds;
      ++selection.passes;
    }
    // Every later threshold is at least the floor.
    keep(bisection.floor());
    const auto values = selection.values.first(selection.count);
    auto keys = keys_.first(keys_between(values, KeyOrder::kMagnitude, bisection.floor(),
                                         bisection.most(), keys_.data())
                                .kept);
    for (; left > 0; --left) bisection.refine(keys);
    if (!bisection.has_lower()) keep(0);
    selection.threshold = bisection.lower_threshold();
    take(bisection, k, context.step, selection);
  }

 private:
  /// Takes all elements that reach the upper threshold, and neighbours of those between the two.
  void take(const Bisection& bisection, std::size_t k, std::uint64_t step,
            Selection& selection) const {
    const std::size_t reach = bisection.has_lower() ? bisection.lower_count() : selection.count;
    const std::size_t missing = k - bisection.upper_count();
    SplitMix64 random(SplitMix64::mix(options_.seed ^ SplitMix64::mix(step)));
    const std::size_t start = random.below(reach - k + 1);
    const std::int32_t low = bisection.has_lower() ? bisection.floor() : 0;
    selection.choose(cut_between(KeyOrder::kMagnitude, low, bisection.most(), start, missing,
                                 selection.values.first(selection.count)),
                     k);
  }

  MsTopKOptions options_;
  std::size_t elements_;
  Buffer<std::int32_t> keys_;  ///< of compacted elements between the two thresholds
};

const Registration kMsTopK{sparse_method({
    .name = "mstopk",
    .summary = "k large magnitudes above a threshold found by bisection",
    .source = "Shi et al., Towards scalable distributed training of deep learning on public cloud "
              "clusters, MLSys 2021, alg. 1",
    .parameters = {integer_parameter("rounds", "25", "rounds of bisection", 1, 50)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_mstopk_selector(tensor.elements,
                                      {.ratio = ratio_of(parameters),
                                       .rounds = static_cast<int>(parameters.integer("rounds")),
                                       .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace

std::unique_ptr<Selector> make_mstopk_selector(std::size_t elements, const MsTopKOptions& options) {
  return std::make_unique<MsTopKSelector>(elements, options);
}

}  // namespace thinpipe
