// No memory: unsent values are lost.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

class NoMemory : public Memory {
 public:
  NoMemory(std::size_t elements, bool buffered) : sum_(buffered ? elements : 0, 0.0F) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    if (!sum_.empty()) hold(gradient, scale);
    held_ = false;
    return sum_.empty() ? gradient : std::span<const float>(sum_);
  }
  void hold(std::span<const float> gradient, float scale) override {
    if (sum_.size() != gradient.size())
      throw std::logic_error("hold() of a compressor that exchanges in every step");
    if (!held_) std::fill(sum_.begin(), sum_.end(), 0.0F);
    accumulate(gradient, 1.0F, scale, sum_);
    held_ = true;
  }
  void sent(std::span<const std::uint32_t> /*positions*/,
            std::span<const float> /*decoded*/) override {}
  bool minds_sent() const override { return false; }
  void give_back(std::span<const std::uint32_t> /*positions*/,
                 std::span<const float> /*values*/) override {}
  std::span<float> remainder() override { return {}; }
  Distortion distortion(std::span<const float> gradient,
                        std::span<const float> decoded) const override {
    return distortion_against(sum_.empty() ? gradient : std::span<const float>(sum_), decoded);
  }
  int passes() const override { return sum_.empty() ? 0 : 1; }

  void reset() override { held_ = false; }
  std::size_t state_size() const override { return 1 + sum_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    out.put<std::uint8_t>(held_ ? 1 : 0);
    save_floats(out, sum_);
  }
  void load(ByteReader& in) override {
    held_ = load_flag(in, "held");
    load_floats(in, sum_, "accumulated gradient");
  }

 private:
  LargeVector<float> sum_;  ///< of the gradients of one period
  bool held_ = false;       ///< sum_ has gradients that were not exchanged yet
};

}  // namespace

std::unique_ptr<Memory> make_no_memory(std::size_t elements, bool buffered) {
  return std::make_unique<NoMemory>(elements, buffered);
}

}  // namespace thinpipe
