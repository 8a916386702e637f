// Inputs of benchmarks, and results: a wrong one is found before its time is reported.
#include "harness/bench/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/bench/inputs.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPlainElements = 1 << 20;  // that validate_start() looks at, at most

// A compressor that is correct except for one defect: topk without memory, whose payload has an
// additional last byte. This byte is 0 if there is no defect.
class Wrong : public Compressor {
 public:
  Wrong(std::string how, const TensorInfo& tensor, const CompressorSettings& settings)
      : how_(std::move(how)),
        threads_(settings.threads),
        inner_(make_compressor(parse_spec("topk:ratio=0.01,memory=none"), tensor, settings)) {}

  std::size_t elements() const override { return inner_->elements(); }
  std::size_t max_encoded_size() const override { return inner_->max_encoded_size() + 1; }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    if (how_ == "throws" && ++steps_ > 5) throw std::runtime_error("the sixth step");
    EncodeReport report = inner_->encode(gradient, payload.first(payload.size() - 1));
    mine_ = true;
    std::byte extra{0};
    if (how_ == "target" && simd_target() == simd_targets().front()) extra = std::byte{1};
    if (how_ == "threads") extra = static_cast<std::byte>(threads_);
    payload[report.encoded_bytes++] = extra;
    if (how_ == "count") --report.selected_elements;
    if (how_ == "larger") report.encoded_bytes = max_encoded_size() + 1;
    if (how_ == "past") payload.data()[max_encoded_size()] = std::byte{0};
    return report;
  }
  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    inner_->decode_add(payload.first(payload.size() - 1), factor, out);
    if (how_ == "private" && !mine_) out[0] += 1;
    // Every compressor of the spec is wrong alike, where it is fast.
    const bool fast = simd_target() == simd_targets().front();
    if (how_ == "decode-target" && fast) out[elements() - 1] += 1;
    if (how_ == "decode-threads" && threads_ > 1) out[0] += 1;
    if (how_ == "decode-later" && fast && elements() > kPlainElements) out[elements() - 1] += 1;
    if (how_ == "nan") out[elements() / 2] = std::numeric_limits<float>::quiet_NaN();
  }
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    Distortion distortion = inner_->distortion(gradient, payload.first(payload.size() - 1));
    if (how_ == "error") distortion.error_squares /= 4;
    return distortion;
  }
  void hold(const GradientInput& gradient) override { inner_->hold(gradient); }
  void reset() override {}
  void save_state(std::vector<std::byte>& state) const override { inner_->save_state(state); }
  void load_state(std::span<const std::byte> state) override { inner_->load_state(state); }

 private:
  std::string how_;
  int threads_;
  std::unique_ptr<Compressor> inner_;
  bool mine_ = false;
  int steps_ = 0;
};

// Defects: "nothing", "count" (reports one element fewer than it sends), "private" (decodes
// only what it encoded itself), "larger" (reports a payload longer than its bound), "past"
// (writes behind its payload), "nan" (decodes one), "target" (another payload for every
// instruction set), "threads" (another payload on two threads), "error" (reports half of its
// error), "throws" (after some steps). The registered method "test-wrong" has it as its parameter
// `how`.
std::unique_ptr<Compressor> make_wrong_compressor(const std::string& how, const TensorInfo& tensor,
                                                  const CompressorSettings& settings) {
  return std::make_unique<Wrong>(how, tensor, settings);
}

MethodInfo wrong_method() {
  MethodInfo method;
  method.name = "test-wrong";
  method.summary = "wrong in one way";
  method.source = "a test";
  ParameterInfo how;
  how.name = "how";
  how.type = ParameterInfo::Type::kChoice;
  how.default_value = "nothing";
  how.help = "what is wrong";
  how.choices = {"nothing",       "count",          "private",     "larger", "past",
                 "nan",           "target",         "threads",     "error",  "throws",
                 "decode-target", "decode-threads", "decode-later"};
  method.parameters = {how};
  method.expected_bits = [](const Parameters&) { return 0.64; };
  method.make = [](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) {
    return make_wrong_compressor(parameters.choice("how"), tensor, settings);
  };
  return method;
}

const Registration kWrong{wrong_method()};

// The validations' message about a wrong compressor; "" if none.
std::string complaint(const std::string& how, int threads = 1, std::size_t elements = 5000) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, elements, false);
  CompressorSettings settings;
  settings.threads = threads;
  Subject subject({.make =
                       [&](const TensorInfo& tensor, const CompressorSettings& with) {
                         return make_wrong_compressor(how, tensor, with);
                       },
                   .settings = settings,
                   .simd = simd_targets().front()},
                  inputs);
  const std::string found = error_text<ValidationError>([&] {
    subject.validate_start();
    subject.warm_up(4);
    subject.decode();
    subject.validate_last();
  });
  set_simd_target("best");
  return found;
}

TEST(Subject, RightOnesPass) {
  EXPECT_EQ(complaint("nothing"), "");
  EXPECT_EQ(complaint("nothing", 2), "");
}

TEST(Subject, WrongOnesDoNot) {
  // k = 1 % of 5000.
  EXPECT_THAT(complaint("count"),
              HasSubstr("reports 49 selected elements, but 50 are decoded to values other than 0"));
  EXPECT_THAT(complaint("private"), HasSubstr("by another compressor of the same spec"));
  EXPECT_THAT(complaint("larger"), HasSubstr("exceeds the announced maximum"));
  EXPECT_THAT(complaint("past"), HasSubstr("writes past the end"));
  EXPECT_NE(complaint("nan"), "");
  EXPECT_THAT(complaint("error"), HasSubstr("reports an error of"));
  EXPECT_THAT(complaint("threads", 2), HasSubstr("differs from"));
  EXPECT_EQ(complaint("threads", 1), "");
  EXPECT_THAT(complaint("decode-threads", 2), HasSubstr("2 threads"));
  if (simd_targets().size() > 1) {
    EXPECT_THAT(complaint("decode-target"), HasSubstr("element 4999 of step 0 is decoded to"));
    // Beyond the elements that are compared with the plainest kernels from the first step.
    EXPECT_THAT(complaint("decode-later", 1, (1 << 20) + 1),
                HasSubstr("element 1048576 is decoded to"));
    EXPECT_THAT(complaint("target"), HasSubstr("differs from"));
  }
}

TEST(Subject, QualityIsOfTheSecondHalf) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, 10000, false);
  const auto make = [](const TensorInfo& tensor, const CompressorSettings& settings) {
    return make_wrong_compressor("nothing", tensor, settings);
  };
  Subject subject({.make = make, .settings = {}, .simd = simd_targets().front()}, inputs);
  const Quality quality = subject.warm_up(3);
  EXPECT_EQ(quality.selected_share, 1);  // exact top-k
  EXPECT_GT(quality.relative_error, 0.5);
  EXPECT_LT(quality.relative_error, 1);
  EXPECT_GT(quality.bits_per_element, 0.01 * 32);  // its values alone
  EXPECT_GE(quality.passes, 1);
}

// Fraction of |x| > t.
double tail(std::span<const float> x, double t) {
  const auto count = std::count_if(x.begin(), x.end(),
                                   [&](float v) { return std::fabs(static_cast<double>(v)) > t; });
  return static_cast<double>(count) / static_cast<double>(x.size());
}

TEST(BenchInputs, DistributionsHaveTheirTails) {
  constexpr std::size_t kCount = 400000;
  // Binomial counts: 5 sigma of a fraction p are 5 sqrt(p / n), at most 0.004 for p <= 0.25.
  const auto near = [](double p) { return 5 * std::sqrt(p / kCount); };
  std::vector<float> x(kCount);
  for (const double t : {2.0, 4.0, 6.0}) {
    draw("laplace", 3, x);
    EXPECT_NEAR(tail(x, t), std::exp(-t), near(std::exp(-t))) << t;
    draw("normal", 3, x);
    EXPECT_NEAR(tail(x, t / 2), std::erfc(t / 2 / std::sqrt(2.0)), near(0.3)) << t;
    draw("gpareto", 3, x);
    const double p = std::pow(1 + 0.4 * t, -2.5);
    EXPECT_NEAR(tail(x, t), p, near(p)) << t;
  }
  // P(|x y| > 1) of two normals = 2 / pi * integral of K0 from 1 = 0.2089.
  draw("normal_product", 3, x);
  EXPECT_NEAR(tail(x, 1), 0.2089, near(0.21));
  for (const std::string& name : distribution_names()) {
    draw(name, 5, x);
    const auto positive = std::count_if(x.begin(), x.end(), [](float v) { return v > 0; });
    EXPECT_NEAR(static_cast<double>(positive) / kCount, 0.5, near(0.25)) << name;
  }
  EXPECT_THROW(draw("cauchy", 1, x), InputError);
}

TEST(BenchInputs, SeedDecides) {
  std::vector<float> a(1000), b(1000), c(1000);
  draw("laplace", 1, a);
  draw("laplace", 1, b);
  draw("laplace", 2, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(BenchInputs, MemoryRotatesThroughMoreThanTheCache) {
  BenchOptions options;
  const std::size_t d = last_level_cache() / 16;  // a quarter of the cache as floats
  const Inputs inputs(options, d, false);
  EXPECT_GE(inputs.rotation() * d * sizeof(float), 2 * last_level_cache());
  for (std::size_t i = 1; i < inputs.rotation(); ++i)
    EXPECT_NE(inputs.gradient(i).data(), inputs.gradient(0).data());
  EXPECT_EQ(inputs.gradient(inputs.rotation()).data(), inputs.gradient(0).data());
  // The same values elsewhere.
  EXPECT_NE(inputs.gradient(0)[0], inputs.gradient(1)[0]);
  const auto sum_of_bits = [&](std::size_t i) {
    std::uint64_t sum = 0;
    for (const float value : inputs.gradient(i)) sum += std::bit_cast<std::uint32_t>(value);
    return sum;
  };
  EXPECT_EQ(sum_of_bits(0), sum_of_bits(1));
}

TEST(BenchInputs, CacheStaysWithOne) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, 1000, true);
  EXPECT_EQ(inputs.rotation(), 1u);
  EXPECT_EQ(inputs.gradient(0).data(), inputs.gradient(7).data());
  EXPECT_EQ(inputs.output(0).data(), inputs.output(7).data());
  EXPECT_NE(inputs.neighbour(0).data(), inputs.gradient(0).data());
  EXPECT_EQ(inputs.squares(3).size(), 1000u);
  for (const float q : inputs.squares(3)) EXPECT_GT(q, 0.0F);
}

TEST(BenchInputs, ArraysBeginOnCacheLines) {
  const Arrays arrays(3, 17);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays[i].data()) % 64, 0u);
    EXPECT_EQ(arrays[i].size(), 17u);
  }
}

}  // namespace
}  // namespace thinpipe
