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
      const auto values = decode(compressor, encode(compressor, gradient, step).payload);
      for (std::size_t i = 0; i < values.size(); ++i) elements_[i].out(values[i]);
    }
  }

  /// `left` is the compressor's unsent remainder; something was sent.
  void expect_balance(std::span<const float> left) const {
    ASSERT_EQ(left.size(), elements_.size());
    double sent = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Element& element = elements_[i];
      // Two roundings a step, each at most 2^-24 of the remainder, which is never more than the
      // magnitudes that came in and went out together.
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

/// How far from 0 a sum of independent errors of mean 0 may be, given the sum of their squares and
/// the greatest of them: z standard errors and z^2 / 2 times the greatest, with z = 5.
///
/// The observed squares are not the variance. A rare event, as natural's rounding up of a value
/// that is hardly above a power of two, that is expected 10 times in all may never happen: the sum
/// is then 10 events off, the squares are next to nothing, and the chance of that is e^-10. This
/// bound is valid for any distribution: let |e| <= 1 with mean 0, S the sum, Q that of squares, 0 <
/// l < 1.
/// Since (ln(1 + y) - y) / y^2 grows with y, and y = l e is at least -l,
///   exp(l e - p e^2) <= 1 + l e, with p = -ln(1 - l) - l <= l^2 / (2 (1 - l)),
/// so E exp(l S - p Q) <= 1, and by Markov's inequality S >= (L + p Q) / l has a chance of at most
/// e^-L. With l = u / (1 + u) and u = sqrt(2 L / Q) that is S >= sqrt(2 L Q) + L; and L = z^2 / 2
/// makes it z sqrt(Q) + z^2 / 2. (Fan, Grama and Liu, 2015, have this for martingales.)
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

  /// Every element's sum is within its bound, and that of all elements where they are independent
  /// of each other; something was drawn at all.
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
