// The Walsh-Hadamard and the cosine transform and low-rank products against their formulas.
#include "compressors/kernels/transforms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/matrices.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

struct Aligned {
  alignas(64) float x[4096];
};

TEST(Hadamard, IsTheMatrixOverTheRootOfItsSize) {
  // H[i][j] = (-1)^(bits common to i and j).
  testing::for_each_target([] {
    for (std::size_t n : {16UL, 32UL, 64UL, 128UL, 256UL, 512UL, 2048UL}) {
      const auto input = testing::bell(n, n);
      Aligned work;
      std::copy(input.begin(), input.end(), work.x);
      hadamard({work.x, n});
      for (std::size_t i = 0; i < n; ++i) {
        double expected = 0;
        for (std::size_t j = 0; j < n; ++j) {
          expected += (std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(input[j]);
        }
        ASSERT_NEAR(static_cast<double>(work.x[i]), expected / std::sqrt(static_cast<double>(n)),
                    1e-5);
      }
    }
  });
}

TEST(Hadamard, KeepsTheNormAndIsItsOwnInverse) {
  for (std::size_t n : {16UL, 1024UL, 4096UL}) {
    const auto input = testing::heavy(n, n);
    Aligned work;
    std::copy(input.begin(), input.end(), work.x);
    hadamard({work.x, n});
    const double before = testing::norm_of(input);
    EXPECT_NEAR(testing::norm_of({work.x, n}), before, 5e-6 * before);
    hadamard({work.x, n});
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(work.x[i], input[i], 1e-6 * before);
  }
}

TEST(Hadamard, SameBitsOnEveryTarget) {
  const auto input = testing::heavy(2048, 1);
  testing::same_on_every_target([&] {
    Aligned work;
    std::copy(input.begin(), input.end(), work.x);
    hadamard({work.x, 2048});
    return testing::bits({work.x, 2048});
  });
}

TEST(Hadamard, SignsAreAgreedAndBalanced) {
  std::vector<std::uint32_t> a(2048);
  std::vector<std::uint32_t> b(2048);
  std::vector<std::uint32_t> other(2048);
  random_signs(5, a);
  random_signs(5, b);
  random_signs(6, other);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  int negative = 0;
  for (std::uint32_t word : a) {
    ASSERT_EQ(word & 0x7fffffffU, 0U);
    negative += word != 0 ? 1 : 0;
  }
  EXPECT_NEAR(negative, 1024, 5 * std::sqrt(2048 / 4.0));
}

TEST(Dct, IsTheFormulaOfEveryLine) {
  testing::for_each_target([] {
    for (std::size_t n : {1UL, 2UL, 4UL, 8UL, 16UL, 32UL, 64UL}) {
      const auto matrix = testing::dct_matrix(n);
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
            testing::Matrix line;  // a column
            for (std::size_t i = 0; i < n; ++i) {
              line.push_back({static_cast<double>(input[l * lines.line_step + i * lines.step])});
            }
            const auto expected = testing::product(matrix, line);
            for (std::size_t k = 0; k < n; ++k) {
              const auto found = static_cast<double>(x[l * lines.line_step + k * lines.step]);
              ASSERT_NEAR(found, expected[k][0], 2e-6);
              before += line[k][0] * line[k][0];
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

TEST(Patch, SameAsPlainLoops) {
  using testing::kInfinity, testing::kNan;
  testing::for_each_target([] {
    for (std::size_t columns : {1UL, 15UL, 16UL, 37UL, 64UL}) {
      const Patch patch{.rows = 3, .columns = columns, .step = 70, .chunk_step = 64};
      auto matrix = testing::bell(3 * 70, columns);
      matrix[0] = kNan;
      matrix[70] = -kInfinity;
      matrix[140] = -0.0F;
      std::vector<float> chunk(3 * 64, 5.0F);
      auto expected_chunk = chunk;
      auto expected_left = matrix;
      auto expected_sum = matrix;
      const auto decoded = testing::bell(3 * 64, 77);
      for (std::size_t y = 0; y < patch.rows; ++y) {
        for (std::size_t x = 0; x < columns; ++x) {
          const float value = matrix[y * 70 + x];
          const float left = value - decoded[y * 64 + x];
          expected_chunk[y * 64 + x] = dct_input(value);
          expected_left[y * 70 + x] = std::isfinite(left) ? left : 0.0F;
          expected_sum[y * 70 + x] = value + 0.5F * decoded[y * 64 + x];
        }
      }
      take_dct_input(patch, matrix.data(), chunk.data());
      EXPECT_EQ(testing::bits(chunk), testing::bits(expected_chunk));
      auto left = matrix;
      leave_decoded(patch, left.data(), decoded.data(), left.data());
      EXPECT_EQ(testing::bits(left), testing::bits(expected_left));
      add_decoded(patch, decoded.data(), 0.5F, matrix.data());
      // NaNs of additions may differ in their bits.
      for (std::size_t i = 1; i < matrix.size(); ++i) ASSERT_EQ(matrix[i], expected_sum[i]);
    }
  });
}

TEST(Dct, SameBitsOnEveryTarget) {
  const auto input = testing::heavy(64 * 20, 1);
  testing::same_on_every_target([&] {
    auto x = input;
    dct({.base = x.data(), .count = 20, .line_step = 64, .length = 64, .step = 1});
    const auto transformed = testing::bits(x);
    inverse_dct({.base = x.data(), .count = 64, .line_step = 1, .length = 16, .step = 64});
    return std::pair(transformed, testing::bits(x));
  });
}

const std::vector<LowRankShape> kShapes = {{1, 1, 1},   {1, 40, 1},  {40, 1, 1},   {5, 7, 3},
                                           {16, 16, 4}, {33, 17, 5}, {130, 67, 9}, {3, 1000, 2},
                                           {257, 9, 2}, {700, 21, 3}};  // several ranges

/// Expects the sum of `count` products of two factors.
template <class Factors>
void expect_product(float found, std::size_t count, Factors factors) {
  double sum = 0;
  double scale = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [a, b] = factors(i);
    const double term = static_cast<double>(a) * static_cast<double>(b);
    sum += term;
    scale += std::fabs(term);
  }
  ASSERT_NEAR(found, sum, 2e-6 * scale + 1e-6);
}

TEST(LowRank, AreTheMatrixProducts) {
  testing::for_each_target([] {
    for (const auto& [rows, columns, rank] : kShapes) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      const LowRankShape shape{rows, columns, rank};
      const auto m = testing::bell(rows * columns, 1);
      const auto p = testing::bell(rows * rank, 2);
      const auto q = testing::bell(columns * rank, 3);
      std::vector<float> left(p.size());
      low_rank_left(shape, m.data(), q.data(), left.data());
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < rank; ++k) {
          expect_product(left[k * rows + i], columns, [&](std::size_t j) {
            return std::pair(m[i * columns + j], q[k * columns + j]);
          });
        }
      }
      std::vector<float> right(q.size()), workspace(low_rank_workspace(shape));
      low_rank_right(shape, m.data(), p.data(), workspace, right.data());
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t k = 0; k < rank; ++k) {
          expect_product(right[k * columns + j], rows, [&](std::size_t i) {
            return std::pair(m[i * columns + j], p[k * rows + i]);
          });
        }
      }
      std::vector<float> added(m);
      low_rank_add(shape, p.data(), q.data(), -0.5F, added.data());
      std::vector<float> subtracted(m.size());
      low_rank_subtract(shape, p.data(), q.data(), m.data(), subtracted.data());
      auto in_place = m;
      low_rank_subtract(shape, p.data(), q.data(), in_place.data(), in_place.data());
      EXPECT_EQ(in_place, subtracted);
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < rank; ++k) {
            sum += static_cast<double>(p[k * rows + i]) * static_cast<double>(q[k * columns + j]);
          }
          const auto at = static_cast<double>(m[i * columns + j]);
          ASSERT_NEAR(static_cast<double>(added[i * columns + j]), at - 0.5 * sum, 1e-4);
          ASSERT_NEAR(static_cast<double>(subtracted[i * columns + j]), at - sum, 1e-4);
        }
      }
    }
  });
}

TEST(LowRank, SameBitsOnEveryTarget) {
  for (const LowRankShape& shape : kShapes) {
    const auto m = testing::heavy(shape.rows * shape.columns, 1);
    const auto q = testing::bell(shape.columns * shape.rank, 3);
    testing::same_on_every_target([&] {
      std::vector<float> p(shape.rows * shape.rank);
      std::vector<float> back(q.size());
      std::vector<float> left(m.size());
      low_rank_left(shape, m.data(), q.data(), p.data());
      std::vector<float> workspace(low_rank_workspace(shape));
      low_rank_right(shape, m.data(), p.data(), workspace, back.data());
      low_rank_subtract(shape, p.data(), back.data(), m.data(), left.data());
      low_rank_add(shape, p.data(), back.data(), 0.3F, left.data());
      return std::tuple(testing::bits(p), testing::bits(back), testing::bits(left));
    });
  }
}

}  // namespace
}  // namespace thinpipe
