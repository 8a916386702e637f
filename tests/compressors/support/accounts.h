// Whether error feedback loses anything: inputs = what was decoded + what is left (SBC Theorem
// II.1).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe::testing {

/// What came in and went out of a compressor, element by element.
class Accounts {
 public:
  /// Puts `steps` heavy-tailed gradients through the compressor, which holds between exchanges.
  Accounts(Compressor& compressor, std::uint64_t steps, std::uint64_t seed = 0)
      : steps_(steps), elements_(compressor.elements()) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto gradient = heavy(elements_.size(), seed + step);
      for (std::size_t i = 0; i < gradient.size(); ++i) elements_[i].in(gradient[i]);
      if ((step + 1) % compressor.period() != 0) {
        compressor.hold({.values = gradient, .squares = {}, .step = step});
        continue;
      }
      const auto values = decode(compressor, encode(compressor, gradient, step).payload);
      for (std::size_t i = 0; i < values.size(); ++i) elements_[i].out(values[i]);
    }
  }

  /// `left` is what the compressor has not sent; something was sent.
  void expect_balance(std::span<const float> left) const {
    ASSERT_EQ(left.size(), elements_.size());
    double sent = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Element& element = elements_[i];
      // Two roundings a step, each at most 2^-24 of what is left, which is never more than
      // everything that came in and went out.
      const double roundings = 2 * static_cast<double>(steps_) * 0x1p-24;
      ASSERT_NEAR(element.input, element.decoded + static_cast<double>(left[i]),
                  roundings * element.magnitudes)
          << i;
      sent += std::fabs(element.decoded);
    }
    EXPECT_GT(sent, 0);
  }

 private:
  struct Element {
    double input = 0, decoded = 0;
    double magnitudes = 0;  ///< of everything that came in or went out
    void in(float value) {
      input += static_cast<double>(value);
      magnitudes += std::fabs(static_cast<double>(value));
    }
    void out(float value) {
      decoded += static_cast<double>(value);
      magnitudes += std::fabs(static_cast<double>(value));
    }
  };

  std::uint64_t steps_;
  std::vector<Element> elements_;
};

/// So many floats of a compressor's state (docs/wire-format.md), `before_end` bytes before its end.
inline std::vector<float> floats_of_state(const Compressor& compressor, std::size_t count,
                                          std::size_t before_end = 0) {
  std::vector<std::byte> state;
  compressor.save_state(state);
  std::vector<float> values(count);
  const std::size_t bytes = count * sizeof(float);
  std::memcpy(values.data(), state.data() + state.size() - before_end - bytes, bytes);
  return values;
}

}  // namespace thinpipe::testing
