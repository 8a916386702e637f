// The kinds of memory, and what they share.
#include "compressors/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/both.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/sums.h"

namespace thinpipe {
namespace {

/// Least number of scattered elements for which a second thread is faster.
constexpr std::size_t kMinParallelScatter = 50000;
/// Scattered elements whose cache lines are prefetched.
constexpr std::size_t kScatterAhead = 128;

/// Returns the distortion for memories that keep left = c - decoded.
Distortion distortion_of_remainder(std::span<const float> left, std::span<const float> decoded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double kept = left[i];
    const double input = kept + static_cast<double>(decoded[i]);
    error += kept * kept;
    norm += input * input;
  }
  return {error, norm};
}

/// Returns the distortion for memories that keep c.
Distortion distortion_against(std::span<const float> c, std::span<const float> decoded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double input = c[i];
    const double difference = static_cast<double>(decoded[i]) - input;
    error += difference * difference;
    norm += input * input;
  }
  return {error, norm};
}

/// Sets c[p] = left(c[p], i) for p = positions[i], all distinct; a non-finite result becomes 0.
/// Runs on the current threads, because most of these elements have left the caches and each takes
/// a cache line.
template <class Left>
void scatter(std::span<float> c, std::span<const std::uint32_t> positions, Left left) {
  const std::size_t n = positions.size();
  const int threads = n < kMinParallelScatter ? 1 : threads_for(c.size());
  const auto parts = static_cast<std::size_t>(threads);
  parallel_parts(parts, threads, [&](std::size_t part) {
    const std::size_t end = n * (part + 1) / parts;
    for (std::size_t i = n * part / parts; i < end; ++i) {
      if (i + kScatterAhead < end) __builtin_prefetch(c.data() + positions[i + kScatterAhead], 1);
      const float value = left(c[positions[i]], i);
      c[positions[i]] = std::isfinite(value) ? value : 0.0F;
    }
  });
}

/// Subtracts decoded values at the sent positions.
void subtract_sent(std::span<float> c, std::span<const std::uint32_t> positions,
                   std::span<const float> decoded) {
  scatter(c, positions, [&](float kept, std::size_t i) { return kept - decoded[i]; });
}

/// Adds values at the restored positions.
void add_returned(std::span<float> c, std::span<const std::uint32_t> positions,
                  std::span<const float> returned) {
  scatter(c, positions, [&](float kept, std::size_t i) { return kept + returned[i]; });
}

/// No memory: unsent values are lost.
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

/// Error feedback. c and the residual share one array: c is the residual plus the gradient, and
/// subtracting the sent values makes it the next residual.
class ResidualMemory : public Memory {
 public:
  ResidualMemory(std::size_t elements, float decay, bool clear)
      : residual_(elements, 0.0F), decay_(decay), clear_(clear) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    hold(gradient, scale);
    held_ = false;
    cleared_ = {};
    return residual_;
  }
  Signal add_later(std::span<const float> gradient, float scale) override {
    const float decay = held_ ? 1.0F : decay_;
    held_ = false;
    cleared_ = {};
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
    cleared_ = {};
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const double c = residual_[positions[i]], d = decoded[i];
      cleared_.error_squares += (d - c) * (d - c);
      cleared_.input_squares += c * c - d * d;
    }
    clear_at(positions, residual_);
  }
  void give_back(std::span<const std::uint32_t> positions, std::span<const float> values) override {
    add_returned(residual_, positions, values);
  }
  std::span<float> remainder() override { return residual_; }
  Distortion distortion(std::span<const float> /*gradient*/,
                        std::span<const float> decoded) const override {
    Distortion found = distortion_of_remainder(residual_, decoded);
    found.error_squares += cleared_.error_squares;
    found.input_squares += cleared_.input_squares;
    return found;
  }
  int passes() const override { return 1; }

  void reset() override {
    std::fill(residual_.begin(), residual_.end(), 0.0F);
    held_ = false;
    cleared_ = {};
  }
  std::size_t state_size() const override { return 1 + residual_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    out.put<std::uint8_t>(held_ ? 1 : 0);
    save_floats(out, residual_);
  }
  void load(ByteReader& in) override {
    held_ = load_flag(in, "held");
    load_floats(in, residual_, "residual");
    // A state has the residual, and not what the payload before it lost.
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    cleared_ = clear_ ? Distortion{kUnknown, kUnknown} : Distortion{};
  }

 private:
  LargeVector<float> residual_;
  float decay_;
  bool clear_;         ///< sent elements become 0, whatever was decoded
  bool held_ = false;  ///< within a period: the decay has been applied
  /// The error of the last payload at cleared elements, which the residual does not have. There the
  /// residual stands for an input of the decoded value, so the input's squares are a difference.
  Distortion cleared_;
};

/// Momentum correction: a worker's momentum is applied before unsent values are accumulated, so
/// that sparse updates keep the dense update's momentum.
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
    if (options_.masking) clear_at(positions, velocity_);
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

/// EF21: workers send the compressed change of an estimate that both ends hold.
class Ef21Memory : public Memory {
 public:
  explicit Ef21Memory(std::size_t elements) : estimate_(elements, 0.0F), change_(elements, 0.0F) {}

  std::span<const float> add(std::span<const float> gradient, float scale) override {
    const float* const gradients = gradient.data();
    const float* const changes = change_.data();
    // The bits of accumulate(), in the same pass.
    if (held_) {
      subtract_estimate(
          [=](std::size_t i) { return canonical(changes[i] + scale * gradients[i]); });
    } else {
      subtract_estimate([=](std::size_t i) { return canonical(0.0F + scale * gradients[i]); });
    }
    held_ = false;
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
  int passes() const override { return 1; }

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
  /// Sets change = sum - estimate. A non-finite estimate restarts from 0, so that the sender goes
  /// on. Receivers, which only add, keep the non-finite value. A job must therefore not compress
  /// gradients that are not finite with EF21; thinpipe's trainings and the hook do not.
  template <class Sum>
  void subtract_estimate(Sum sum) {
    parallel_stretches(change_.size(), kLineFloats, [&](std::size_t begin, std::size_t end) {
      for (; begin < end; begin += kBlock) {
        const std::span block = std::span(estimate_).subspan(begin, std::min(kBlock, end - begin));
        for (std::size_t bad = first_non_finite(block); bad < block.size(); ++bad)
          if (!std::isfinite(block[bad])) block[bad] = 0.0F;
        float* const changes = change_.data() + begin;
        for (std::size_t i = 0; i < block.size(); ++i) changes[i] = sum(begin + i) - block[i];
      }
    });
  }

  static constexpr std::size_t kBlock = 4096;  ///< elements that are in the first-level cache

  LargeVector<float> estimate_;  ///< h
  LargeVector<float> change_;    ///< the sum of gradients of a period, then c
  bool held_ = false;            ///< change_ has gradients that were not exchanged yet
};

/// Local gradient clipping: one additional pass computes the norm, then the inner memory scales the
/// gradient as it adds.
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

void clear_at(std::span<const std::uint32_t> positions, std::span<float> x) {
  scatter(x, positions, [](float /*kept*/, std::size_t /*i*/) { return 0.0F; });
}

std::unique_ptr<Memory> make_no_memory(std::size_t elements, bool buffered) {
  return std::make_unique<NoMemory>(elements, buffered);
}

std::unique_ptr<Memory> make_residual_memory(std::size_t elements, float decay) {
  return std::make_unique<ResidualMemory>(elements, decay, false);
}

std::unique_ptr<Memory> make_clear_memory(std::size_t elements, float decay) {
  return std::make_unique<ResidualMemory>(elements, decay, true);
}

std::unique_ptr<Memory> make_momentum_memory(std::size_t elements, const MomentumOptions& options) {
  return std::make_unique<MomentumMemory>(elements, options);
}

std::unique_ptr<Memory> make_ef21_memory(std::size_t elements) {
  return std::make_unique<Ef21Memory>(elements);
}

std::unique_ptr<Memory> make_clipped_memory(std::unique_ptr<Memory> inner, double threshold,
                                            int workers) {
  return std::make_unique<ClippedMemory>(std::move(inner), threshold / std::sqrt(workers));
}

}  // namespace thinpipe
