#include "compressors/kernels/dct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

/// The textbook's sum.
std::vector<double> plain_dct(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  std::vector<double> result;
  for (std::size_t k = 0; k < x.size(); ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += x[i] * std::cos(std::numbers::pi * (2.0 * static_cast<double>(i) + 1) *
                             static_cast<double>(k) / (2 * n));
    }
    result.push_back(sum * std::sqrt((k == 0 ? 1 : 2) / n));
  }
  return result;
}

TEST(Dct, IsTheFormulaOfEveryLine) {
  testing::for_each_target([] {
    for (std::size_t n : {1UL, 2UL, 4UL, 8UL, 16UL, 32UL, 64UL}) {
      for (std::size_t count : {0UL, 1UL, 15UL, 16UL, 17UL, 40UL}) {
        for (bool across : {false, true}) {
          SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(count));
          const auto input = testing::bell(n * count, n + count);
          auto x = input;
          const Lines lines{.base = x.data(),
                            .count = count,
                            .line_step = across ? 1 : n,
                            .length = n,
                            .step = across ? count : 1};
          dct(lines);
          double before = 0;
          double after = 0;
          for (std::size_t l = 0; l < count; ++l) {
            std::vector<double> line;
            for (std::size_t i = 0; i < n; ++i) {
              line.push_back(static_cast<double>(input[l * lines.line_step + i * lines.step]));
            }
            const auto expected = plain_dct(line);
            for (std::size_t k = 0; k < n; ++k) {
              const auto found = static_cast<double>(x[l * lines.line_step + k * lines.step]);
              ASSERT_NEAR(found, expected[k], 2e-6);
              before += line[k] * line[k];
              after += found * found;
            }
          }
          EXPECT_NEAR(after, before, 1e-5 * before);
          inverse_dct(lines);
          for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], input[i], 4e-6);
        }
      }
    }
  });
}

TEST(Dct, ALineIsTheSameInWhateverCompany) {
  // Where all lines that go together have a zero it is left out of their sums.
  constexpr std::size_t kLength = 64;
  constexpr std::size_t kCount = 16;
  testing::for_each_target([] {
    auto sparse = testing::bell(kLength * kCount, 8);
    for (std::size_t i = 0; i < sparse.size(); ++i) {
      if (i % kLength % 5 != 3) sparse[i] = i % 2 == 0 ? 0.0F : -0.0F;
    }
    auto among = sparse;
    const auto dense = testing::bell(kLength, 9);
    std::copy(dense.begin(), dense.end(), among.end() - kLength);
    const auto turn = [](std::vector<float>& x) {
      inverse_dct({.base = x.data(), .count = kCount, .line_step = kLength, .length = kLength});
      x.resize(x.size() - kLength);
    };
    turn(sparse);
    turn(among);
    EXPECT_EQ(testing::bits(sparse), testing::bits(among));
  });
}

TEST(Dct, SameBitsOnEveryTarget) {
  const auto input = testing::heavy(64 * 20, 1);
  std::vector<std::vector<std::uint32_t>> results;
  testing::for_each_target([&] {
    auto x = input;
    dct({.base = x.data(), .count = 20, .line_step = 64, .length = 64, .step = 1});
    auto all = testing::bits(x);
    inverse_dct({.base = x.data(), .count = 64, .line_step = 1, .length = 16, .step = 64});
    for (std::uint32_t word : testing::bits(x)) all.push_back(word);
    results.push_back(all);
  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace thinpipe
