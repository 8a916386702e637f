// DGC's selection.
#include "compressors/select/dgc.h"

#include <algorithm>
#include <functional>

#include "compressors/kernels/compact.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

constexpr int kMaxLowered = 10;
constexpr double kLower = 0.8;

// In tenths, so that the comparison with k is exact.
bool too_many(std::size_t count, std::size_t k) { return 10 * count > 13 * k; }
bool too_few(std::size_t count, std::size_t k) { return 10 * count < 8 * k; }

class DgcSelector : public Selector {
 public:
  DgcSelector(std::size_t elements, DgcOptions options)
      : options_(std::move(options)),
        elements_(elements),
        top_k_(elements),
        sample_(target_count(options_.sample, elements)) {}

  std::size_t max_selected() const override {
    return std::min(elements_, 13 * target_count(options_.ratio.greatest(), elements_) / 10);
  }

  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, c.size());
    selection.target = k;
    selection.count = 0;
    selection.passes = 0;
    selection.threshold = 0;
    if (k == 0) return;
    double threshold = sampled_threshold(c, ratio, context.step);
    for (int lowered = 0;; ++lowered) {
      selection.count = compact(c, KeyOrder::kMagnitude, key_above(threshold),
                                selection.positions.data(), selection.values.data());
      ++selection.passes;
      if (!too_few(selection.count, k) || lowered == kMaxLowered) break;
      threshold *= kLower;
    }
    if (too_many(selection.count, k)) {
      threshold = static_cast<double>(
          magnitude_of(top_k_.refine(KeyOrder::kMagnitude, k, kMaxKey, selection)));
    }
    selection.threshold = threshold;
  }

 private:
  double sampled_threshold(std::span<const float> c, double ratio, std::uint64_t step) {
    const std::size_t n = sample_.size();
    sample_keys(c, KeyOrder::kMagnitude, options_.sampling, options_.seed, step, sample_.first(n));
    const std::size_t top = std::min(n, target_count(options_.sample * ratio, c.size()));
    std::nth_element(sample_.data(), sample_.data() + (top - 1), sample_.data() + n,
                     std::greater<>());
    return static_cast<double>(magnitude_of(sample_[top - 1]));
  }

  DgcOptions options_;
  std::size_t elements_;
  TopK top_k_;
  Buffer<std::int32_t> sample_;
};

}  // namespace

std::unique_ptr<Selector> make_dgc_selector(std::size_t elements, const DgcOptions& options) {
  return std::make_unique<DgcSelector>(elements, options);
}

}  // namespace thinpipe
