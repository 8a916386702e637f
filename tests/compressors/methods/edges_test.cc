// The lengths and ratios at which something begins, ends or does not fit, for every method.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "compressors/encode/position_codec.h"
#include "compressors/registry.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::bits;

std::unique_ptr<Compressor> of_rank(const std::string& spec, std::size_t elements, int rank) {
  return make_compressor(
      parse_spec(spec),
      {.name = "layer.weight", .shape = testing::matrix_shape(elements), .elements = elements},
      {.rank = rank});
}

/// Two steps of rank 1; a compressor of rank 0 that never encoded decodes what the sender says it
/// sent: where there is a residual, what went in less what stays.
void expect_decodable(const std::string& spec, std::size_t elements) {
  SCOPED_TRACE(spec + " of " + std::to_string(elements));
  const auto sender = of_rank(spec, elements, 1);
  const auto receiver = of_rank(spec, elements, 0);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const auto gradient = testing::heavy(elements, elements + step);
    const auto encoded = testing::encode(*sender, gradient, step);
    ASSERT_LE(encoded.report.encoded_bytes, sender->max_encoded_size());
    ASSERT_LE(encoded.report.selected_elements, elements);
    const auto decoded = testing::decode(*receiver, encoded.payload);
    ASSERT_EQ(bits(decoded), bits(testing::decode(*sender, encoded.payload)));
    for (float value : decoded) ASSERT_TRUE(std::isfinite(value));
    // Nothing was carried yet: c is the gradient, but for clipping and Nesterov (1.9 of it).
    // memory=clear drops what rounding left, and EF21 carries what was sent.
    const auto residual = sender->residual();
    const std::string text =
        Parameters(find_method(parse_spec(spec).name).parameters, parse_spec(spec)).text();
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    if (step > 0 || residual.empty() || sender->incremental() || has("memory=clear") ||
        has("nesterov=true") || (has("clip=") && !has("clip=0"))) {
      continue;
    }
    for (std::size_t i = 0; i < elements; ++i) {
      const float c = gradient[i];
      ASSERT_LE(std::fabs(decoded[i] + residual[i] - c),
                0x1p-23F * (std::fabs(decoded[i]) + std::fabs(c)))
          << i;
    }
  }
}

TEST(Edges, LengthsAroundPartitionsVectorsAndTwoToTheSixteenth) {
  for (const std::string& spec : testing::all_specs()) {
    for (std::size_t elements : {0UL, 1UL, 4UL, 5UL, 6UL, 69UL, 70UL, 71UL, 65535UL, 65537UL}) {
      expect_decodable(spec, elements);
    }
  }
}

TEST(Edges, RatiosAboveAQuarterAndBelowOneElement) {
  // 0.25 is SIDCo's first stage; k is never less than 1.
  for (const MethodInfo& method : methods()) {
    for (const ParameterInfo& parameter : method.parameters) {
      if (parameter.name != "ratio" && !(method.name == "sbc" && parameter.name == "p")) continue;
      for (const char* ratio : {"0.3", "0.9", "1", "0.0000001"}) {
        for (std::size_t elements : {1UL, 5UL, 70UL, 4001UL}) {
          const std::string spec = method.name + ":" + parameter.name + "=" + ratio;
          expect_decodable(spec, elements);
          const auto compressor = of_rank(spec, elements, 0);
          const auto report = testing::encode(*compressor, testing::heavy(elements, 1)).report;
          const double k = std::ceil(std::stod(ratio) * static_cast<double>(elements) - 1e-9);
          EXPECT_EQ(report.target_elements, static_cast<std::size_t>(std::max(k, 1.0))) << spec;
        }
      }
    }
  }
}

TEST(Edges, RunsOverTwoToTheSixteenth) {
  constexpr std::size_t kElements = 400000;
  std::vector<float> gradient(kElements, 0.0F);
  // Runs of 0, 65534, 65535, 65536 and 131071 zeros, and one to the end.
  std::size_t at = 0;
  for (std::size_t run : {0UL, 65534UL, 65535UL, 65536UL, 131071UL}) {
    at += run;
    gradient[at] = static_cast<float>(run) - 70000;
    ++at;
  }
  for (const std::string& positions : position_codec_names()) {
    const std::string spec = "topk:memory=none,ratio=0.0000125,positions=" + positions;  // k = 5
    SCOPED_TRACE(spec);
    const auto encoded = testing::encode(*of_rank(spec, kElements, 1), gradient);
    EXPECT_EQ(encoded.report.selected_elements, 5U);
    EXPECT_TRUE(testing::decode(*of_rank(spec, kElements, 0), encoded.payload) == gradient);
  }
  // 3LC: runs of bytes of 121 that are longer than any count in a byte.
  const auto encoded = testing::encode(*of_rank("3lc:s=1", kElements, 1), gradient);
  const auto decoded = testing::decode(*of_rank("3lc:s=1", kElements, 0), encoded.payload);
  for (std::size_t i = 0; i < kElements; ++i) {
    // M = 70000: all but the greatest, at -70000, -4466, -4465, -4464, 61071: half or more counts.
    const float expected =
        std::fabs(gradient[i]) < 35000 ? 0.0F : std::copysign(70000.0F, gradient[i]);
    ASSERT_EQ(decoded[i], expected) << i;
  }
}

}  // namespace
}  // namespace thinpipe
