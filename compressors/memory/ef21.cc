// EF21: workers send the compressed change of an estimate that both ends hold.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/nan.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

class Ef21Memory : public Memory {
 public:
  explicit Ef21Memory(std::size_t elements) : estimate_(elements, 0.0F), change_(elements, 0.0F) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    hold(gradient, scale);
    held_ = false;
    // A non-finite estimate restarts from 0. All receivers decoded the same non-finite value, so
    // only such a restart makes the estimates of sender and receivers equal again.
    float* const estimates = estimate_.data();
    float* const changes = change_.data();
    for (std::size_t i = 0; i < change_.size(); ++i) {
      const float estimate = estimates[i];
      const float finite = std::isfinite(estimate) ? estimate : 0.0F;
      estimates[i] = finite;  // always written, so that the loop vectorises
      changes[i] -= finite;
    }
    return change_;
  }
  void hold(std::span<const float> gradient, float scale) override {
    if (!held_) std::fill(change_.begin(), change_.end(), 0.0F);
    accumulate(gradient, 1.0F, scale, change_);
    held_ = true;
  }
  void sent(std::span<const std::uint32_t> /*positions*/,
            std::span<const float> /*decoded*/) override {}
  bool minds_sent() const override { return false; }
  /// The estimates of all workers sum to the sum of the aggregates, whichever worker's estimate is
  /// lowered.
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    subtract_sent(estimate_, positions, values);
  }
  std::span<float> remainder() override { return {}; }
  std::span<float> mirror() override { return estimate_; }
  Distortion distortion(std::span<const float> /*gradient*/,
                        std::span<const float> decoded) const override {
    return distortion_against(change_, decoded);
  }
  int passes() const override { return 2; }

  void reset() override {
    std::fill(estimate_.begin(), estimate_.end(), 0.0F);
    std::fill(change_.begin(), change_.end(), 0.0F);
    held_ = false;
  }
  std::size_t state_size() const override { return 1 + 2 * estimate_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    out.put<std::uint8_t>(held_ ? 1 : 0);
    std::vector<float> estimate(estimate_.begin(), estimate_.end());
    // Decoders add, and which NaN an addition returns depends on the processor.
    for (float& value : estimate) value = canonical(value);
    save_floats(out, estimate);
    save_floats(out, change_);
  }
  void load(ByteReader& in) override {
    held_ = load_flag(in, "held");
    load_floats(in, estimate_, "estimate");
    load_floats(in, change_, "accumulated gradient");
  }

 private:
  LargeVector<float> estimate_;  ///< h
  LargeVector<float> change_;    ///< the sum of gradients of a period, then c
  bool held_ = false;            ///< change_ has gradients that were not exchanged yet
};

}  // namespace

std::unique_ptr<Memory> make_ef21_memory(std::size_t elements) {
  return std::make_unique<Ef21Memory>(elements);
}

}  // namespace thinpipe
