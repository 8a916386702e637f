// Exact sizes of payloads, kept in golden_sizes.csv and reviewed as a diff.
// THINPIPE_UPDATE_GOLDEN=1 rewrites the file.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "tests/compressors/support/golden.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::make;

std::string measured_sizes() {
  constexpr std::size_t kLengths[] = {0, 1, 64, 10000, 270896};
  constexpr std::uint64_t kSteps = 12;
  std::map<std::size_t, std::vector<std::vector<float>>> gradients;
  std::map<std::size_t, std::vector<std::vector<float>>> squares;
  for (std::size_t n : kLengths) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      gradients[n].push_back(testing::heavy(n, 7 + step));
      squares[n].push_back(testing::squares_of(gradients[n].back()));
    }
  }
  std::ostringstream csv;
  csv << "spec,elements,step,bytes,selected\n";
  for (const std::string& spec : testing::all_specs()) {
    for (std::size_t n : kLengths) {
      const auto compressor = make(spec, n);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const auto report = compressor->encode(
            {.values = gradients[n][step], .squares = squares[n][step], .step = step}, payload);
        if (step != 0 && step != kSteps - 1) continue;
        // Commas separate keys as well as columns.
        csv << '"' << spec << "\"," << n << ',' << step << ',' << report.encoded_bytes << ','
            << report.selected_elements << '\n';
      }
    }
  }
  return csv.str();
}

TEST(Golden, SizesOfPayloads) { testing::expect_golden("golden_sizes.csv", measured_sizes()); }

TEST(Golden, ZerosPackTwoHundredAndEightyFold) {
  // 3LC section 3.3: 70 zeros are 14 bytes of 121, which become one. The scale takes 4 more bytes.
  constexpr std::size_t kElements = 70 * 1000;
  const auto compressor = make("3lc", kElements);
  const auto encoded = encode(*compressor, std::vector<float>(kElements, 0.0F));
  EXPECT_EQ(encoded.report.encoded_bytes - 4, kElements * sizeof(float) / 280);
  EXPECT_EQ(encoded.report.selected_elements, 0U);
}

TEST(Golden, QuarticTakesOnePointSixBits) {
  // 3LC table 2, "no ZRE": 32 / 1.6 = 20-fold.
  const auto compressor = make("3lc:zre=false", 10000);
  EXPECT_EQ(encode(*compressor, testing::bell(10000, 1)).report.encoded_bytes, 4U + 2000U);
}

TEST(Golden, ThreeLcDecodesToThreeValues) {
  const auto compressor = make("3lc:s=1.5", 6);
  const std::vector<float> gradient = {2, -1.5, 1.49, 0, -2, 0.1};
  // M = 3; halves away from zero: -1.5 / 3 = -0.5 gives -1, 1.49 / 3 gives 0.
  const auto encoded = encode(*compressor, gradient);
  EXPECT_EQ(decode(*compressor, encoded.payload), (std::vector<float>{3, -3, 0, 0, -3, 0}));
  // The residual (-1, 1.5, 1.49, 0, 1, 0.1) alone: M = 2.25.
  const auto next = encode(*compressor, std::vector<float>(6, 0.0F));
  EXPECT_EQ(decode(*compressor, next.payload), (std::vector<float>{0, 2.25, 2.25, 0, 0, 0}));
}

TEST(Golden, SparsePayloadByHand) {
  // Two of five: count 2, values -3 and 4, positions 1 and 4.
  const auto compressor = make("topk:ratio=0.4", 5);
  const auto payload = encode(*compressor, std::vector<float>{1, -3, 2, 0, 4}).payload;
  const unsigned char expected[] = {2, 0, 0, 0x40, 0xc0, 0, 0, 0x80, 0x40, 1, 0, 0, 0, 4, 0, 0, 0};
  ASSERT_EQ(payload.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(payload.data(), expected, sizeof expected), 0);
}

TEST(Golden, BinaryPayloadByHand) {
  // SBC: k = 2 of 10; the smallest -3 and -5, mean -4, outweigh 1 and 2. Count 2, value -4, b = 2
  // (density 0.2: ln(0.618) / ln(0.8) = 2.157, b = 1 + 1), gaps of 2 and 4 zeros: quotient 0,
  // remainder 2: 1, 01; quotient 1, remainder 0: 01, 00. Lowest bit first: 101 0100.
  const auto compressor = make("sbc:p=0.2", 10);
  const auto payload =
      encode(*compressor, std::vector<float>{1, 2, -3, 0, 0, 0, 0, -5, 0, 0}).payload;
  const unsigned char expected[] = {2, 0, 0, 0x80, 0xc0, 2, 0b00010101};
  ASSERT_EQ(payload.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(payload.data(), expected, sizeof expected), 0);
}

}  // namespace
}  // namespace thinpipe
