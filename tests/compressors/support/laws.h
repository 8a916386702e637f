// Laws that methods obey: error feedback loses nothing (inputs = decoded values + residual, SBC
// Theorem II.1), and an unbiased method decodes to the input on average.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "compressors/compressor.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe::testing {

/// Input and output of a compressor, element by element.
class Accounts {
 public:
  /// Puts `steps` heavy-tailed gradients through the compressor, which accumulates between
  /// exchanges.
  Accounts(Compressor& compressor, std::uint64_t steps, std::uint64_t seed = 0)
      : steps_(steps), elements_(compressor.elements()) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto gradient = heavy(elements_.size(), seed + step);
      for (std::size_t i = 0; i < gradient.size(); ++i) elements_[i].in(gradient[i]);
      if ((step + 1) % compressor.period() != 0) {
        compressor.hold({.values = gradient, .squares = {}, .step = step});
        continue;
      }
      const auto values = sent_values(compressor, gradient, step);
      for (std::size_t i = 0; i < values.size(); ++i) elements_[i].out(values[i]);
    }
  }

  /// `left` is the compressor's unsent remainder; something was sent.
  void expect_balance(std::span<const float> left) const {
    ASSERT_EQ(left.size(), elements_.size());
    double sent = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Element& element = elements_[i];
      // Each step rounds twice, and each rounding error is at most 2^-24 of the remainder. The
      // remainder never exceeds the sum of all magnitudes that came in and went out.
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
  const std::vector<std::byte> state = state_of(compressor);
  std::vector<float> values(count);
  const std::size_t bytes = count * sizeof(float);
  std::memcpy(values.data(), state.data() + state.size() - before_end - bytes, bytes);
  return values;
}

/// Returns how far from 0 a sum of independent errors of mean 0 may be, given the sum of their
/// squares and the greatest error. The bound is z standard errors plus z^2 / 2 times the greatest
/// error, with z = 5.
///
/// The sum of the observed squares is not the variance. Take a rare event, for example that natural
/// rounds up a value just above a power of two. If it is expected 10 times in all, it may still
/// never happen, with a chance of e^-10. The sum is then 10 events off, and the squares are next to
/// nothing. The bound here is valid for any distribution. Let |e| <= 1 with mean 0, S the sum of
/// all e, Q the sum of their squares, 0 < l < 1. Since (ln(1 + y) - y) / y^2 grows with y, and y =
/// l e is at least -l, exp(l e - p e^2) <= 1 + l e, with p = -ln(1 - l) - l <= l^2 / (2 (1 - l)).
/// So E exp(l S - p Q) <= 1, and by Markov's inequality S >= (L + p Q) / l has a chance of at most
/// e^-L. With l = u / (1 + u) and u = sqrt(2 L / Q) this is S >= sqrt(2 L Q) + L, and with L = z^2
/// / 2 the bound is z sqrt(Q) + z^2 / 2. (Fan, Grama and Liu, 2015, have this for martingales.)
inline double unbiased_bound(double squares, double greatest) {
  constexpr double kDeviations = 5;  // e^-12.5 is 4 in a million
  return kDeviations * std::sqrt(squares) + kDeviations * kDeviations / 2 * greatest;
}

/// Errors of decoded elements, added up over many draws.
class ErrorSums {
 public:
  explicit ErrorSums(std::size_t elements) : sum_(elements), squares_(elements) {}

  void add(std::span<const float> decoded, std::span<const float> input) {
    ++draws_;
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      const double error = static_cast<double>(decoded[i]) - static_cast<double>(input[i]);
      sum_[i] += error;
      squares_[i] += error * error;
      greatest_ = std::max(greatest_, std::fabs(error));
    }
  }

  /// Expects that every element's sum of errors is within its bound, and that something was drawn.
  /// If the elements are independent of each other, expects the same of the sum over all elements.
  /// @param rounding  largest error of the arithmetic in one draw
  void expect_unbiased(double rounding = 0, bool independent = true) const {
    double all = 0;
    double all_squares = 0;
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      EXPECT_LE(std::fabs(sum_[i]), unbiased_bound(squares_[i], greatest_) + rounding * draws_)
          << i;
      all += sum_[i];
      all_squares += squares_[i];
    }
    EXPECT_GT(all_squares, 0);
    if (independent) {
      EXPECT_LE(std::fabs(all), unbiased_bound(all_squares, greatest_) + rounding * draws_);
    }
  }

 private:
  std::vector<double> sum_, squares_;
  double greatest_ = 0;  ///< of any element: an own one may not have happened yet
  double draws_ = 0;
};

}  // namespace thinpipe::testing
