#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::make_selection;
using testing::positions_of;

/// Per-sample gradients of a linear model with squared error, f_z = (w x_z - y_z)^2 / 2:
/// (w x_z - y_z) x_z.
class LinearModel {
 public:
  explicit LinearModel(std::size_t weights) : weights_(testing::bell(weights, 1)) {}

  std::vector<std::vector<double>> sample_gradients(std::size_t batch, std::uint64_t seed) const {
    std::vector<std::vector<double>> gradients;
    for (std::size_t z = 0; z < batch; ++z) {
      const auto x = testing::bell(weights_.size(), 1000 * seed + z);
      double error = double{x[0]} + 0.3;  // minus the target: y = w x - x_0 - 0.3 + noise
      error += 0.5 * double{testing::bell(1, 77 * seed + z)[0]};
      std::vector<double> gradient;
      for (float feature : x) gradient.push_back(error * double{feature});
      gradients.push_back(gradient);
    }
    return gradients;
  }

 private:
  std::vector<float> weights_;
};

TEST(Variance, CriterionFromPerSampleGradients) {
  // The criterion by definition uses the samples of all batches since an element was last sent. It
  // compares the square of the sum of gradients (over |B|) with alpha times the sum of their
  // squares. The sum of squares decays by zeta for every step that passed.
  constexpr std::size_t kWeights = 40;
  constexpr std::size_t kBatch = 16;
  constexpr double kAlpha = 1.5;
  const LinearModel model(kWeights);
  const auto selector = make_variance_selector(kWeights, {.alpha = 1.5F, .zeta = 0.9F});
  Selection selection = make_selection(kWeights);
  std::vector<std::vector<std::vector<double>>> history;  // [step][sample][weight]
  std::vector<std::size_t> since(kWeights, 0);            // first step not sent yet
  std::vector<float> residual(kWeights, 0.0F);
  std::size_t total = 0;
  for (std::size_t step = 0; step < 30; ++step) {
    history.push_back(model.sample_gradients(kBatch, step + 1));
    std::vector<float> squares(kWeights, 0.0F);
    for (std::size_t i = 0; i < kWeights; ++i) {
      double sum = 0;
      double square = 0;
      for (const auto& sample : history.back()) {
        sum += sample[i] / kBatch;
        square += std::pow(sample[i] / kBatch, 2);
      }
      residual[i] += static_cast<float>(sum);
      squares[i] = static_cast<float>(square);
    }
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < kWeights; ++i) {
      double r = 0;
      double v = 0;
      for (std::size_t t = since[i]; t <= step; ++t) {
        v *= double{0.9F};
        for (const auto& sample : history[t]) {
          r += sample[i] / kBatch;
          v += std::pow(sample[i] / kBatch, 2);
        }
      }
      if (r * r > kAlpha * v) expected.push_back(static_cast<std::uint32_t>(i));
    }
    selector->select(residual, {.step = step, .squares = squares}, selection);
    ASSERT_EQ(positions_of(selection), expected) << step;
    selector->sent(expected);
    for (std::uint32_t i : expected) {
      residual[i] = 0;  // as the memory does
      since[i] = step + 1;
    }
    total += expected.size();
  }
  EXPECT_GT(total, 30U);  // some, and not all, in every step
  EXPECT_LT(total, 30 * kWeights / 2);
}

/// Figures 1 and 2 of the paper, one element after the other. tau = 0: figure 1.
struct PlainVariance {
  float tau;
  float alpha;
  float zeta;
  std::vector<float> r;
  std::vector<float> v;

  std::vector<float> step(const std::vector<float>& s, const std::vector<float>& q) {
    std::vector<float> sent(s.size(), 0.0F);
    for (std::size_t i = 0; i < s.size(); ++i) {
      r[i] += s[i];
      v[i] += q[i];
      const float squared = r[i] * r[i];
      const float scaled = alpha * v[i];
      if (!(squared > scaled && std::fabs(r[i]) > tau)) {
        v[i] = zeta * v[i];
      } else if (tau == 0) {
        sent[i] = r[i];
        r[i] = 0;
        v[i] = 0;
      } else {
        sent[i] = r[i] > 0 ? tau : -tau;
        const float twice = 2 * sent[i] * r[i];
        const float square = sent[i] * sent[i];
        v[i] = std::max(v[i] - twice + square, 0.0F);
        r[i] -= sent[i];
      }
    }
    return sent;
  }
};

std::vector<float> variances_of(const Compressor& compressor) {
  return testing::floats_of_state(compressor, compressor.elements());
}

TEST(Variance, TheAlgorithmsOfThePaper) {
  constexpr std::size_t kElements = 3001;
  for (float tau : {0.0F, 0.01F, 0.2F}) {
    const std::string spec =
        tau == 0 ? "variance:alpha=1.5,zeta=0.99,values=fp32"
                 : std::string("hybrid:alpha=1.5,zeta=0.99,tau=") + (tau == 0.01F ? "0.01" : "0.2");
    SCOPED_TRACE(spec);
    const auto compressor = testing::make(spec, kElements);
    PlainVariance plain{tau, 1.5F, 0.99F, std::vector<float>(kElements, 0.0F),
                        std::vector<float>(kElements, 0.0F)};
    std::size_t sent = 0;
    for (std::uint64_t step = 0; step < 100; ++step) {
      const auto gradient = testing::heavy(kElements, 100 + step);
      const auto encoded = testing::encode(*compressor, gradient, step);
      const auto expected = plain.step(gradient, testing::squares_of(gradient));
      const auto decoded = testing::decode(*compressor, encoded.payload);
      ASSERT_EQ(testing::bits(decoded), testing::bits(expected));
      ASSERT_EQ(testing::bits(variances_of(*compressor)), testing::bits(plain.v));
      sent += encoded.report.selected_elements;
    }
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, 100 * kElements);
  }
}

TEST(Variance, WhatTheValueCodecDropsStays) {
  // Both are unambiguous, but the second is under 2^-7 of the first: exp4 does not send it.
  const auto compressor = testing::make("variance:zeta=0.5", 3);
  const std::vector<float> gradient = {4, 0.001F, 1};
  const std::vector<float> squares = {1, 1e-9F, 8};
  const GradientInput input{.values = gradient, .squares = squares};
  EXPECT_EQ(testing::encode(*compressor, input).report.selected_elements, 1U);
  EXPECT_EQ(variances_of(*compressor), (std::vector<float>{0, 0.5e-9F, 4}));
}

TEST(Variance, NeedsSecondMoments) {
  for (const char* spec : {"variance", "hybrid"}) {
    EXPECT_TRUE(find_method(spec).needs_squares);
    const auto compressor = testing::make(spec, 3, "conv1.weight");
    const std::vector<float> gradient(3, 1.0F);
    const GradientInput input{.values = gradient, .squares = {}};
    EXPECT_THAT(input_error([&] { testing::encode(*compressor, input); }),
                AllOf(HasSubstr("'conv1.weight'"), HasSubstr("captured with --squares")));
    for (const char* key : {":delay=2", ":clip=1"}) {
      EXPECT_THROW(testing::make(std::string(spec) + key, 3), InputError);
    }
  }
}

TEST(Strom, SendsStepsOfOneSize) {
  // First element: 0.1 stays in the residual; then the sum -0.5 exceeds 0.4 in magnitude, and -0.1
  // is left. Second element: 5 is sent in steps of 0.4.
  const auto compressor = testing::make("strom:tau=0.4", 3);
  const auto step = [&](const std::vector<float>& gradient) {
    return testing::sent_values(*compressor, gradient);
  };
  EXPECT_EQ(step({0.1F, 5, 0.4F}), (std::vector<float>{0, 0.4F, 0}));
  EXPECT_EQ(step({-0.6F, 0, 0}), (std::vector<float>{-0.4F, 0.4F, 0}));
  EXPECT_EQ(step({0, 0, 0.01F}), (std::vector<float>{0, 0.4F, 0.4F}));
}

}  // namespace
}  // namespace thinpipe
