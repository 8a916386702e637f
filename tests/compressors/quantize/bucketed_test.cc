// The contract of all quantisers: they leave the unsent values, on every target.
#include "compressors/quantize/quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "compressors/kernels/sums.h"
#include "compressors/methods/quantizers.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;

struct Named {
  std::string name;
  std::unique_ptr<Quantizer> quantizer;
};

std::vector<Named> quantizers(std::size_t elements) {
  std::vector<Named> list;
  const auto add = [&](const std::string& name, std::unique_ptr<BucketCodec> codec,
                       std::size_t bucket) {
    list.push_back({name, make_bucket_quantizer(std::move(codec), {bucket, 5})});
  };
  add("fp16", make_half_bucket(HalfFormat::kFp16), 0);
  add("bf16", make_half_bucket(HalfFormat::kBf16), 0);
  add("natural", make_natural_bucket(), 0);
  for (std::size_t bucket : {0UL, 8UL, 100UL, 512UL}) {
    const std::string in = " in buckets of " + std::to_string(bucket);
    add("int8" + in, make_int8_bucket(), bucket);
    add("two means" + in, make_two_means_bucket(), bucket);
    add("mean magnitude" + in, make_mean_magnitude_bucket(), bucket);
    add("sign" + in, make_sign_bucket(0.5F), bucket);
    add("terngrad" + in, make_terngrad_bucket(2.5), bucket);
    add("terngrad unclipped" + in, make_terngrad_bucket(0), bucket);
    for (int code : {2, 3, 4, 8}) {
      const std::string of = std::to_string(code) + " bits" + in;
      add("qsgd of " + of, make_qsgd_bucket(code), bucket);
      add("elias of " + of, make_qsgd_elias_bucket(code, bucket == 0 ? elements : bucket), bucket);
    }
  }
  list.push_back({"stoch3", make_ternary_quantizer(elements, {1, false, true, 5})});
  for (std::size_t bucket : {0UL, 100UL, 512UL}) {
    list.push_back({"ternary in buckets of " + std::to_string(bucket),
                    make_ternary_quantizer(elements, {.sparsity = 1.5F, .bucket = bucket})});
  }
  const auto rows = static_cast<std::int64_t>(elements % 7 == 0 ? 7 : 1);
  list.push_back({"columns", make_column_means_quantizer(
                                 {rows, static_cast<std::int64_t>(elements) / rows}, elements)});
  return list;
}

TEST(Quantizers, WhatIsLeftIsWhatWasNotSent) {
  for (const auto& [input, c] : testing::with_non_finite(testing::part_inputs())) {
    for (auto& [name, quantizer] : quantizers(c.size())) {
      SCOPED_TRACE(name + ", " + input);
      const auto result = testing::quantize(*quantizer, c, {.step = 3});
      const auto decoded = testing::dequantize(*quantizer, result.payload, c.size());
      std::size_t nonzero = 0;
      std::vector<float> expected(c.size());
      for (std::size_t i = 0; i < c.size(); ++i) {
        const float left = c[i] - decoded[i];
        ASSERT_TRUE(std::isfinite(decoded[i]));
        expected[i] = std::isfinite(left) ? left : 0.0F;
        nonzero += decoded[i] != 0 ? 1 : 0;
      }
      ASSERT_EQ(result.remainder, expected);
      ASSERT_LE(nonzero, result.report.nonzero);
      ASSERT_LE(result.report.nonzero, c.size());
      // In place, as the residual memory has it.
      std::vector<float> both = c;
      const auto in_place = testing::quantize_into(both, *quantizer, Signal(both), {.step = 3});
      ASSERT_EQ(in_place.payload, result.payload);
      ASSERT_EQ(in_place.remainder, expected);
    }
  }
}

TEST(Quantizers, TheSameOnEveryTarget) {
  for (std::size_t n : {5UL, 71UL, 1001UL, 20000UL}) {
    const auto c = testing::heavy(n, n);
    for (auto& [name, quantizer] : quantizers(n)) {
      SCOPED_TRACE(name);
      testing::same_on_every_target([&] {
        const auto result = testing::quantize(*quantizer, c, {.step = 9});
        const auto decoded = testing::dequantize(*quantizer, result.payload, n);
        return std::tuple(result.payload, bits(result.remainder), bits(decoded));
      });
    }
  }
}

TEST(Quantizers, RefuseLengthsAndScalesThatCannotBe) {
  const auto c = testing::heavy(133, 1);
  for (auto& [name, quantizer] : quantizers(c.size())) {
    SCOPED_TRACE(name);
    const auto payload = testing::quantize(*quantizer, c).payload;
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_THROW(testing::dequantize(*quantizer, std::span(payload).first(size), c.size()),
                   PayloadError);
    }
    auto longer = payload;
    longer.push_back(std::byte{0});
    EXPECT_THROW(testing::dequantize(*quantizer, longer, c.size()), PayloadError);
    // All ones: a NaN as a scale or a value, an impossible exponent, bits in the padding.
    const std::vector<std::byte> ones(payload.size(), std::byte{0xff});
    EXPECT_THROW(testing::dequantize(*quantizer, ones, c.size()), PayloadError);
  }
}

TEST(Quantizers, ASumMayBeDoneOnTheWay) {
  for (std::size_t n : {1UL, 71UL, 20000UL}) {
    const auto g = testing::heavy(n, 1);
    for (float decay : {1.0F, 0.5F}) {
      for (auto& [name, quantizer] : quantizers(n)) {
        SCOPED_TRACE(name);
        auto c = testing::heavy(n, 2);
        auto r = c;
        accumulate(g, decay, 2, c);
        const auto expected = testing::quantize(*quantizer, c, {.step = 3});
        const Signal sum(
            PendingSum{.g = g.data(), .r = r.data(), .n = n, .decay = decay, .scale = 2});
        const auto found = testing::quantize_into(r, *quantizer, sum, {.step = 3});
        ASSERT_EQ(found.payload, expected.payload);
        ASSERT_EQ(bits(found.remainder), bits(expected.remainder));
        ASSERT_EQ(found.report.nonzero, expected.report.nonzero);
      }
    }
  }
}

}  // namespace
}  // namespace thinpipe
