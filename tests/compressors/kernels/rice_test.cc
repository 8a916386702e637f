// Golomb-Rice codes, held to a writer and a reader of one bit at a time, on every target.
#include "compressors/kernels/rice.h"

#include <gtest/gtest.h>

#include "tests/compressors/support/positions.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::Positions;

std::vector<std::byte> rice_slowly(const Positions& positions, int bits) {
  testing::SlowBits out;
  for (std::uint64_t gap : testing::gaps_of(positions)) {
    out.zeros_and_one((gap - 1) >> bits);
    out.number(gap - 1, bits);
  }
  return out.bytes();
}

/// Parameters under which no code is so long that the slow writer takes seconds.
std::vector<int> parameters_for(std::size_t elements) {
  std::vector<int> all;
  for (int bits : {0, 1, 3, 6, 9, 13, 20, 27, 28, 31}) {
    if (elements >> bits <= 4000000) all.push_back(bits);
  }
  return all;
}

TEST(Rice, WritesTheCodes) {
  testing::for_each_target([] {
    for (const auto& test : testing::position_cases()) {
      for (int bits : parameters_for(test.elements)) {
        SCOPED_TRACE(test.name() + ", " + std::to_string(bits) + " bits");
        const auto expected = rice_slowly(test.positions, bits);
        std::vector<std::byte> bytes(expected.size());  // not a byte more than they take
        EXPECT_EQ(rice_encode(test.positions, bits, bytes), expected.size());
        ASSERT_TRUE(bytes == expected);
      }
    }
  });
}

TEST(Rice, ReadsAPrefixOfThem) {
  testing::for_each_target([] {
    for (const auto& test : testing::position_cases()) {
      for (int bits : parameters_for(test.elements)) {
        SCOPED_TRACE(test.name() + ", " + std::to_string(bits) + " bits");
        const auto bytes = rice_slowly(test.positions, bits);
        const auto gaps = testing::gaps_of(test.positions);
        // From every of the first codes on, so that reading starts at every bit of a byte.
        RiceCursor start;
        for (std::size_t first = 0; first < std::min<std::size_t>(20, gaps.size()); ++first) {
          RiceCursor cursor = start;
          // The true mean, and wrong ones.
          const double mean = 8.0 * static_cast<double>(bytes.size()) /
                              static_cast<double>(gaps.size()) *
                              (first % 3 == 0 ? 1 : 0.3 * static_cast<double>(first));
          Positions read(gaps.size() - first);
          const std::size_t count = rice_decode(bytes, bits, mean, cursor, read);
          ASSERT_LE(count, read.size());
          std::uint64_t bit = start.bit;
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(read[i], test.positions[first + i]);
            bit += ((gaps[first + i] - 1) >> bits) + 1 + static_cast<std::uint64_t>(bits);
          }
          ASSERT_EQ(cursor.bit, bit);
          ASSERT_EQ(cursor.next, count == 0 ? start.next : read[count - 1] + std::uint64_t{1});
          start.bit += ((gaps[first] - 1) >> bits) + 1 + static_cast<std::uint64_t>(bits);
          start.next = std::uint64_t{test.positions[first]} + 1;
        }
      }
    }
  });
}

TEST(Rice, ReadsNearlyAllWhereCodesAreShort) {
  // What is fast must not stop early: at the density of its parameter, all but the last few codes
  // and the rare groups that do not fit a word are the kernel's.
  testing::for_each_target([] {
    for (const auto& [density, bits] : {std::pair{0.1, 3}, {0.01, 6}, {0.001, 9}}) {
      const Positions positions = testing::positions_at(density, 4000000, 2);
      const auto bytes = rice_slowly(positions, bits);
      const double mean =
          8.0 * static_cast<double>(bytes.size()) / static_cast<double>(positions.size());
      RiceCursor cursor;
      std::size_t calls = 0;
      std::size_t read = 0;
      Positions out(positions.size());
      for (; read < positions.size(); ++calls) {
        read += rice_decode(bytes, bits, mean, cursor, std::span(out).subspan(read));
        if (positions.size() - read < 64) break;
        const std::uint64_t zeros = positions[read] - cursor.next;  // one over the obstacle
        cursor.bit += (zeros >> bits) + 1 + static_cast<std::uint64_t>(bits);
        cursor.next = std::uint64_t{positions[read]} + 1;
        out[read] = positions[read];
        ++read;
      }
      EXPECT_LT(calls, 2 + positions.size() / 100) << density;
      out.resize(read);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), positions.begin())) << density;
    }
  });
}

}  // namespace
}  // namespace thinpipe
