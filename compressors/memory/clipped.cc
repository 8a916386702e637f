// Local gradient clipping: one additional pass computes the norm, then the inner memory scales the
// gradient as it adds.
#include <cmath>
#include <utility>

#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"

namespace thinpipe {
namespace {

class ClippedMemory : public Memory {
 public:
  ClippedMemory(std::unique_ptr<Memory> inner, double limit)
      : inner_(std::move(inner)), limit_(limit) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    return inner_->add(gradient, scale * factor(gradient));
  }
  Signal add_later(std::span<const float> gradient, float scale) override {
    return inner_->add_later(gradient, scale * factor(gradient));
  }
  void hold(std::span<const float> gradient, float scale) override {
    inner_->hold(gradient, scale * factor(gradient));
  }
  void sent(std::span<const std::uint32_t> positions, std::span<const float> decoded) override {
    inner_->sent(positions, decoded);
  }
  bool minds_sent() const override { return inner_->minds_sent(); }
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    inner_->give_back(positions, values);
  }
  std::span<float> remainder() override { return inner_->remainder(); }
  std::span<float> mirror() override { return inner_->mirror(); }
  Distortion distortion(std::span<const float> gradient,
                        std::span<const float> decoded) const override {
    return inner_->distortion(gradient, decoded);
  }
  int passes() const override { return inner_->passes() + 1; }
  void reset() override { inner_->reset(); }
  std::size_t state_size() const override { return inner_->state_size(); }
  void save(ByteWriter& out) const override { inner_->save(out); }
  void load(ByteReader& in) override { inner_->load(in); }

 private:
  float factor(std::span<const float> gradient) const {
    const double norm = std::sqrt(sum_of_squares(gradient));
    return norm > limit_ ? static_cast<float>(limit_ / norm) : 1.0F;
  }

  std::unique_ptr<Memory> inner_;
  double limit_;
};

}  // namespace

std::unique_ptr<Memory> make_clipped_memory(std::unique_ptr<Memory> inner, double threshold,
                                            int workers) {
  return std::make_unique<ClippedMemory>(std::move(inner), threshold / std::sqrt(workers));
}

}  // namespace thinpipe
