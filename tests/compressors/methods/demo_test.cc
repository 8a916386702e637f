#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"
#include "tests/compressors/support/accounts.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;

using Matrix = std::vector<std::vector<double>>;

std::unique_ptr<Compressor> made_demo(const std::string& spec, std::vector<std::int64_t> shape) {
  std::size_t elements = 1;
  for (std::int64_t side : shape) elements *= static_cast<std::size_t>(side);
  return make_compressor(parse_spec(spec),
                         {.name = "w", .shape = std::move(shape), .elements = elements}, {});
}

double basis(std::size_t k, std::size_t i, std::size_t n) {
  const auto size = static_cast<double>(n);
  return std::sqrt((k == 0 ? 1 : 2) / size) *
         std::cos(std::numbers::pi * (2.0 * static_cast<double>(i) + 1) * static_cast<double>(k) /
                  (2 * size));
}

/// y = B x B^T or back, by the definition.
Matrix transformed(const Matrix& x, bool back) {
  const std::size_t h = x.size();
  const std::size_t w = x[0].size();
  Matrix half(h, std::vector<double>(w, 0.0));
  Matrix y = half;
  for (std::size_t a = 0; a < h; ++a) {
    for (std::size_t b = 0; b < w; ++b) {
      for (std::size_t i = 0; i < w; ++i) {
        half[a][b] += x[a][i] * (back ? basis(i, b, w) : basis(b, i, w));
      }
    }
  }
  for (std::size_t a = 0; a < h; ++a) {
    for (std::size_t b = 0; b < w; ++b) {
      for (std::size_t i = 0; i < h; ++i) {
        y[a][b] += half[i][b] * (back ? basis(i, a, h) : basis(a, i, h));
      }
    }
  }
  return y;
}

/// DeMo's algorithm 1 for one chunk after another, in doubles.
std::vector<double> plain_demo(const std::vector<float>& c, std::size_t rows, std::size_t columns,
                               std::size_t chunk, std::size_t k) {
  const std::size_t h = std::min(chunk, std::bit_ceil(rows));
  const std::size_t w = std::min(chunk, std::bit_ceil(columns));
  std::vector<double> decoded(c.size());
  for (std::size_t top = 0; top < rows; top += h) {
    for (std::size_t left = 0; left < columns; left += w) {
      Matrix x(h, std::vector<double>(w, 0.0));
      for (std::size_t i = 0; i < h && top + i < rows; ++i) {
        for (std::size_t j = 0; j < w && left + j < columns; ++j) {
          x[i][j] = static_cast<double>(c[(top + i) * columns + left + j]);
        }
      }
      Matrix y = transformed(x, false);
      std::vector<double> sizes;
      for (const auto& row : y) {
        for (double value : row) sizes.push_back(std::fabs(value));
      }
      std::sort(sizes.rbegin(), sizes.rend());
      const double least = k >= sizes.size() ? 0 : (sizes[k - 1] + sizes[k]) / 2;
      for (auto& row : y) {
        for (double& value : row) value = std::fabs(value) >= least ? value : 0;
      }
      x = transformed(y, true);
      for (std::size_t i = 0; i < h && top + i < rows; ++i) {
        for (std::size_t j = 0; j < w && left + j < columns; ++j) {
          decoded[(top + i) * columns + left + j] = x[i][j];
        }
      }
    }
  }
  return decoded;
}

TEST(Demo, DecodesToTheGreatestCoefficientsOfEveryChunk) {
  struct Case {
    std::vector<std::int64_t> shape;
    std::size_t rows, columns, chunk, k;
  };
  for (const auto& [shape, rows, columns, chunk, k] :
       {Case{{1000}, 1, 1000, 64, 32}, Case{{1}, 1, 1, 64, 32}, Case{{5}, 1, 5, 64, 2},
        Case{{130, 70}, 130, 70, 64, 32}, Case{{3, 5, 7}, 3, 35, 16, 4},
        Case{{17, 1}, 17, 1, 16, 3}, Case{{64, 64}, 64, 64, 64, 4096}}) {
    const auto compressor = made_demo(
        "demo:memory=none,chunk=" + std::to_string(chunk) + ",topk=" + std::to_string(k), shape);
    const auto c = testing::bell(rows * columns, 3);
    const auto encoded = encode(*compressor, c);
    const auto decoded = decode(*compressor, encoded.payload);
    const auto expected = plain_demo(c, rows, columns, chunk, k);
    for (std::size_t i = 0; i < c.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(decoded[i]), expected[i], 3e-5) << rows << ' ' << i;
    }
  }
}

TEST(Demo, SizesByHand) {
  // Four chunks of 64 x 64, 32 coefficients each: count of two bytes, floats, 12 bits each.
  const auto matrix = made_demo("demo", {128, 128});
  EXPECT_EQ(encode(*matrix, testing::bell(128UL * 128, 1)).payload.size(),
            2 + 128U * 4 + 128 * 12 / 8);
  // Two chunks of 64: 6 bits each.
  const auto vector = made_demo("demo:topk=8", {128});
  EXPECT_EQ(encode(*vector, testing::bell(128, 1)).payload.size(), 1 + 16U * 4 + 16 * 6 / 8);
}

TEST(Demo, InputsAreDecodedOrStillInTheMemory) {
  // With decay 1 the memory loses nothing: inputs = decoded + memory.
  constexpr std::size_t kRows = 70;
  constexpr std::size_t kColumns = 50;
  for (const char* spec : {"demo:decay=1", "demo:decay=1,values=sign", "demo:decay=1,chunk=16"}) {
    SCOPED_TRACE(spec);
    const auto compressor = made_demo(spec, {kRows, kColumns});
    const testing::Accounts accounts(*compressor, 100);
    accounts.expect_balance(testing::floats_of_state(*compressor, kRows * kColumns));
  }
}

TEST(Demo, OneCosineIsOneCoefficient) {
  std::vector<float> gradient(64);
  for (std::size_t i = 0; i < 64; ++i) gradient[i] = static_cast<float>(basis(5, i, 64));
  const auto compressor = made_demo("demo:topk=1", {64});
  const auto decoded = decode(*compressor, encode(*compressor, gradient).payload);
  for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(decoded[i], gradient[i], 1e-6);
}

}  // namespace
}  // namespace thinpipe
