// Error feedback. c and the residual share one array: c is the residual plus the gradient, and
// subtracting the sent values makes it the next residual.
#include <algorithm>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

class ResidualMemory : public Memory {
 public:
  ResidualMemory(std::size_t elements, float decay, bool clear)
      : residual_(elements, 0.0F), decay_(decay), clear_(clear) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    hold(gradient, scale);
    held_ = false;
    return residual_;
  }
  Signal add_later(std::span<const float> gradient, float scale) override {
    const float decay = held_ ? 1.0F : decay_;
    held_ = false;
    return Signal(PendingSum{.g = gradient.data(),
                             .r = residual_.data(),
                             .n = residual_.size(),
                             .decay = decay,
                             .scale = scale});
  }
  void hold(std::span<const float> gradient, float scale) override {
    accumulate(gradient, held_ ? 1.0F : decay_, scale, residual_);
    held_ = true;
  }
  void sent(std::span<const std::uint32_t> positions, std::span<const float> decoded) override {
    if (!clear_) return subtract_sent(residual_, positions, decoded);
    for (std::uint32_t position : positions) residual_[position] = 0.0F;
  }
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    add_returned(residual_, positions, values);
  }
  std::span<float> remainder() override { return residual_; }
  Distortion distortion(std::span<const float> /*gradient*/,
                        std::span<const float> decoded) const override {
    return distortion_of_remainder(residual_, decoded);
  }
  int passes() const override { return 1; }

  void reset() override {
    std::fill(residual_.begin(), residual_.end(), 0.0F);
    held_ = false;
  }
  std::size_t state_size() const override { return 1 + residual_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    out.put<std::uint8_t>(held_ ? 1 : 0);
    save_floats(out, residual_);
  }
  void load(ByteReader& in) override {
    held_ = load_flag(in, "held");
    load_floats(in, residual_, "residual");
  }

 private:
  LargeVector<float> residual_;
  float decay_;
  bool clear_;         ///< sent elements become 0, whatever was decoded
  bool held_ = false;  ///< within a period: the decay has been applied
};

}  // namespace

std::unique_ptr<Memory> make_residual_memory(std::size_t elements, float decay) {
  return std::make_unique<ResidualMemory>(elements, decay, false);
}

std::unique_ptr<Memory> make_clear_memory(std::size_t elements, float decay) {
  return std::make_unique<ResidualMemory>(elements, decay, true);
}

}  // namespace thinpipe
