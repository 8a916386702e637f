// Momentum correction: a worker's momentum is applied before unsent values are accumulated, so that
// sparse updates keep the dense update's momentum.
#include <algorithm>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

class MomentumMemory : public Memory {
 public:
  MomentumMemory(std::size_t elements, const MomentumOptions& options)
      : velocity_(elements, 0.0F), sum_(elements, 0.0F), options_(options) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    hold(gradient, scale);
    return sum_;
  }
  void hold(std::span<const float> gradient, float scale) override {
    const auto step = options_.nesterov ? accumulate_nesterov : accumulate_momentum;
    step(gradient, options_.momentum, scale, velocity_, sum_);
  }
  void sent(std::span<const std::uint32_t> positions, std::span<const float> decoded) override {
    // If the decoded value is exact this sets v = 0, the paper's mask. If it is rounded, the
    // rounding error stays in v.
    subtract_sent(sum_, positions, decoded);
    if (!options_.masking) return;
    for (std::uint32_t position : positions) velocity_[position] = 0.0F;
  }
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    add_returned(sum_, positions, values);  // a masked velocity stays 0
  }
  /// Dense compressors send every element, so the mask does not apply to them.
  std::span<float> remainder() override { return sum_; }
  Distortion distortion(std::span<const float> /*gradient*/,
                        std::span<const float> decoded) const override {
    return distortion_of_remainder(sum_, decoded);
  }
  int passes() const override { return 1; }

  void reset() override {
    std::fill(velocity_.begin(), velocity_.end(), 0.0F);
    std::fill(sum_.begin(), sum_.end(), 0.0F);
  }
  std::size_t state_size() const override { return 2 * sum_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    save_floats(out, velocity_);
    save_floats(out, sum_);
  }
  void load(ByteReader& in) override {
    load_floats(in, velocity_, "velocity");
    load_floats(in, sum_, "accumulated velocity");
  }

 private:
  LargeVector<float> velocity_;  ///< u
  LargeVector<float> sum_;       ///< v
  MomentumOptions options_;
};

}  // namespace

std::unique_ptr<Memory> make_momentum_memory(std::size_t elements, const MomentumOptions& options) {
  return std::make_unique<MomentumMemory>(elements, options);
}

}  // namespace thinpipe
