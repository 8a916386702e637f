#include "compressors/kernels/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

const std::vector<LowRankShape> kShapes = {{1, 1, 1},   {1, 40, 1},  {40, 1, 1},   {5, 7, 3},
                                           {16, 16, 4}, {33, 17, 5}, {130, 67, 9}, {3, 1000, 2},
                                           {257, 9, 2}, {700, 21, 3}};  // several stretches

TEST(LowRank, AreTheMatrixProducts) {
  testing::for_each_target([] {
    for (const auto& [rows, columns, rank] : kShapes) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      const LowRankShape shape{rows, columns, rank};
      const auto m = testing::bell(rows * columns, 1);
      const auto p = testing::bell(rows * rank, 2);
      const auto q = testing::bell(columns * rank, 3);
      const auto near = [](float found, double expected, double scale) {
        return std::fabs(static_cast<double>(found) - expected) <= 2e-6 * scale + 1e-6;
      };
      std::vector<float> left(p.size());
      low_rank_left(shape, m.data(), q.data(), left.data());
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < rank; ++k) {
          double sum = 0;
          double scale = 0;
          for (std::size_t j = 0; j < columns; ++j) {
            const double term =
                static_cast<double>(m[i * columns + j]) * static_cast<double>(q[k * columns + j]);
            sum += term;
            scale += std::fabs(term);
          }
          ASSERT_TRUE(near(left[k * rows + i], sum, scale));
        }
      }
      std::vector<float> right(q.size()), room(low_rank_room(shape));
      low_rank_right(shape, m.data(), p.data(), room, right.data());
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t k = 0; k < rank; ++k) {
          double sum = 0;
          double scale = 0;
          for (std::size_t i = 0; i < rows; ++i) {
            const double term =
                static_cast<double>(m[i * columns + j]) * static_cast<double>(p[k * rows + i]);
            sum += term;
            scale += std::fabs(term);
          }
          ASSERT_TRUE(near(right[k * columns + j], sum, scale));
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
    std::vector<std::vector<std::uint32_t>> results;
    testing::for_each_target([&] {
      std::vector<float> p(shape.rows * shape.rank);
      std::vector<float> back(q.size());
      std::vector<float> left(m.size());
      low_rank_left(shape, m.data(), q.data(), p.data());
      std::vector<float> room(low_rank_room(shape));
      low_rank_right(shape, m.data(), p.data(), room, back.data());
      low_rank_subtract(shape, p.data(), back.data(), m.data(), left.data());
      low_rank_add(shape, p.data(), back.data(), 0.3F, left.data());
      auto all = testing::bits(p);
      for (std::uint32_t word : testing::bits(back)) all.push_back(word);
      for (std::uint32_t word : testing::bits(left)) all.push_back(word);
      results.push_back(all);
    });
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

}  // namespace
}  // namespace thinpipe
