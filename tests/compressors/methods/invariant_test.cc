// What the memories promise over many steps (SBC Theorem II.1).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/compressors/support/accounts.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::make;

constexpr std::size_t kInvariant = 3001;
constexpr std::uint64_t kInvariantSteps = 100;

/// The floats of a state, `from` bytes after its envelope (docs/wire-format.md).
std::vector<float> floats_of_state(const Compressor& compressor, std::size_t from) {
  std::vector<std::byte> state;
  compressor.save_state(state);
  std::uint32_t spec = 0;
  std::uint32_t tensor = 0;
  std::memcpy(&spec, state.data() + 8, 4);
  std::memcpy(&tensor, state.data() + 12 + spec, 4);
  std::vector<float> values(compressor.elements());
  const std::size_t body = 8 + 4 + spec + 4 + tensor + 8;
  std::memcpy(values.data(), state.data() + body + from, values.size() * sizeof(float));
  return values;
}

std::vector<float> gradient_of(std::uint64_t step) {
  return testing::heavy(kInvariant, 100 + step);
}

TEST(Invariant, InputsAreDecodedOrStillInTheResidual) {
  for (const char* spec : {"topk:ratio=0.01",
                           "topk:ratio=0.05,values=mean",
                           "topk:ratio=0.05,values=bf16",
                           "topk:ratio=0.05,values=int8",
                           "topk:ratio=0.05,values=int2",
                           "topk:ratio=0.05,values=exp4",
                           "topk:ratio=0.05,values=sign",
                           "dgc:memory=residual,ratio=0.01",
                           "sidco:ratio=0.01",
                           "sidco:ratio=0.01,adapt=climb",
                           "3lc",
                           "3lc:s=1.75",
                           "3lc:zre=false",
                           "mqe1bit",
                           "mqe1bit:bucket=512",
                           "onebit",
                           "efsignsgd",
                           "int8:memory=residual",
                           "bf16:memory=residual",
                           "signsgd:memory=residual,scale=0.01",
                           "terngrad:memory=residual",
                           "qsgd:memory=residual",
                           "natural:memory=residual",
                           "stoch3:memory=residual",
                           "sbc:p=0.01",
                           "threshold:tau=0.05",
                           "gradientdropping",
                           "gradientdropping:sample=0.1",
                           "randomk",
                           "randomk:ratio=0.6",
                           "redsync:ratio=0.01",
                           "redsync:variant=trim",
                           "gaussiank:ratio=0.01",
                           "gaussiank:variant=oktopk",
                           "mstopk:ratio=0.01",
                           "variance:values=fp32",
                           "variance:memory=residual",
                           "hybrid",
                           "hybrid:alpha=0.5,tau=0.1",
                           "strom",
                           "strom:tau=0.1",
                           "sidco:dist=gamma,ratio=0.01",
                           "sidco:dist=gpareto,stages=2,ratio=0.01",
                           "sbc:p=0.01,sample=0.1",
                           "sbc:p=0.01,delay=4",
                           "blockint4:memory=residual",
                           "sdp4bit:memory=residual",
                           "mxfp4:memory=residual,rounding=stochastic"}) {
    SCOPED_TRACE(spec);
    const auto compressor = make(spec, kInvariant);
    const testing::Accounts accounts(*compressor, kInvariantSteps, 100);
    accounts.expect_balance(floats_of_state(*compressor, 1));
  }
}

TEST(Invariant, TopKContracts) {
  // |topk(x) - x|^2 <= (1 - k / d) |x|^2: no element that is left out is greater than one that is
  // sent.
  for (const auto& [name, x] : testing::finite_inputs()) {
    if (x.empty()) continue;
    SCOPED_TRACE(name);
    for (const char* ratio : {"0.001", "0.1", "0.7", "1"}) {
      const auto compressor = make(std::string("topk:memory=none,ratio=") + ratio, x.size());
      const auto encoded = encode(*compressor, x);
      const auto values = decode(*compressor, encoded.payload);
      double error = 0;
      double norm = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        error += std::pow(static_cast<double>(values[i]) - static_cast<double>(x[i]), 2);
        norm += std::pow(static_cast<double>(x[i]), 2);
      }
      const double share =
          static_cast<double>(encoded.report.selected_elements) / static_cast<double>(x.size());
      EXPECT_LE(error, (1 - share) * norm * (1 + 1e-12));
    }
  }
}

TEST(Invariant, MomentumWithoutMaskingLosesNothing) {
  // Sum of the velocities u_t of plain momentum = decoded + v.
  for (bool nesterov : {false, true}) {
    const auto compressor =
        make(std::string("dgc:ratio=0.01,masking=false,nesterov=") + (nesterov ? "true" : "false"),
             kInvariant);
    std::vector<double> velocity(kInvariant, 0.0);
    std::vector<double> inputs(kInvariant, 0.0);
    std::vector<double> decoded(kInvariant, 0.0);
    std::vector<double> scale(kInvariant, 0.0);
    for (std::uint64_t step = 0; step < kInvariantSteps; ++step) {
      const auto gradient = gradient_of(step);
      const auto values = decode(*compressor, encode(*compressor, gradient, step).payload);
      for (std::size_t i = 0; i < kInvariant; ++i) {
        const auto g = static_cast<double>(gradient[i]);
        velocity[i] = nesterov ? 0.9F * (velocity[i] + g) : 0.9F * velocity[i] + g;
        inputs[i] += nesterov ? velocity[i] + g : velocity[i];
        decoded[i] += static_cast<double>(values[i]);
        scale[i] += 10 * std::fabs(g) + std::fabs(static_cast<double>(values[i]));
      }
    }
    const auto left = floats_of_state(*compressor, kInvariant * sizeof(float));
    for (std::size_t i = 0; i < kInvariant; ++i) {
      ASSERT_NEAR(inputs[i], decoded[i] + static_cast<double>(left[i]),
                  8 * static_cast<double>(kInvariantSteps) * 0x1p-24 * scale[i]);
    }
  }
}

TEST(Invariant, DgcIsTheAlgorithmOfThePaper) {
  // u = m u + g; v = v + u; what is sent is v there, exactly; then u and v are 0 there.
  for (bool masking : {false, true}) {
    const auto compressor =
        make(std::string("dgc:ratio=0.02,masking=") + (masking ? "true" : "false"), kInvariant);
    std::vector<float> u(kInvariant, 0.0F);
    std::vector<float> v(kInvariant, 0.0F);
    for (std::uint64_t step = 0; step < kInvariantSteps; ++step) {
      const auto gradient = gradient_of(step);
      const auto encoded = encode(*compressor, gradient, step);
      const auto values = decode(*compressor, encoded.payload);
      std::size_t sent = 0;
      for (std::size_t i = 0; i < kInvariant; ++i) {
        const float kept = 0.9F * u[i];
        u[i] = kept + gradient[i];
        v[i] = v[i] + u[i];
        if (values[i] == 0) {
          ASSERT_LE(static_cast<double>(std::fabs(v[i])), encoded.report.threshold * (1 + 1e-6));
          continue;
        }
        ASSERT_EQ(values[i], v[i]);
        ++sent;
        v[i] = 0;
        if (masking) u[i] = 0;
      }
      ASSERT_EQ(sent, encoded.report.selected_elements);
    }
  }
}

TEST(Invariant, DelayedExchangeIsOfTheSum) {
  // Where everything is sent, a period of 3 decodes to the sum of 3 gradients, again and again.
  for (const char* spec : {"topk:ratio=1,delay=3", "topk:ratio=1,delay=3,memory=none",
                           "3lc:delay=3", "sbc:delay=3,p=1"}) {
    const auto compressor = make(spec, 4);
    EXPECT_EQ(compressor->period(), 3U);
    const std::vector<float> gradient = {4, 4, 4, 4};
    for (int period = 0; period < 2; ++period) {
      compressor->hold({.values = gradient, .squares = {}});
      compressor->hold({.values = gradient, .squares = {}});
      EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload),
                (std::vector<float>{12, 12, 12, 12}))
          << spec;
    }
  }
  const std::vector<float> gradient(4);
  EXPECT_THROW(make("none", 4)->hold({.values = gradient, .squares = {}}), std::logic_error);
}

}  // namespace
}  // namespace thinpipe
