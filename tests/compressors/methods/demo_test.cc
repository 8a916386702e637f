// Methods that choose within chunks: DeMo's of a cosine transform, and SparseLoCo's.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "compressors/methods/quantizers.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/matrices.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/positions.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::encode;
using testing::make;
using testing::make_of_shape;
using testing::Matrix;
using testing::product;
using testing::sent_values;
using testing::transposed;

/// y = B x B^T or back, by the definition.
Matrix transformed(const Matrix& x, bool back) {
  const Matrix rows = testing::dct_matrix(x.size()), columns = testing::dct_matrix(x[0].size());
  return back ? product(product(transposed(rows), x), columns)
              : product(product(rows, x), transposed(columns));
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
    const auto compressor = make_of_shape(
        "demo:memory=none,chunk=" + std::to_string(chunk) + ",topk=" + std::to_string(k), shape);
    const auto c = testing::bell(rows * columns, 3);
    const auto decoded = sent_values(*compressor, c);
    const auto expected = plain_demo(c, rows, columns, chunk, k);
    for (std::size_t i = 0; i < c.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(decoded[i]), expected[i], 3e-5) << rows << ' ' << i;
    }
  }
}

TEST(Demo, SizesByHand) {
  // Four chunks of 64 x 64, 32 coefficients each: count of two bytes, floats, 12 bits each.
  const auto matrix = make_of_shape("demo", {128, 128});
  EXPECT_EQ(encode(*matrix, testing::bell(128UL * 128, 1)).payload.size(),
            2 + 128U * 4 + 128 * 12 / 8);
  // Two chunks of 64: 6 bits each.
  const auto vector = make_of_shape("demo:topk=8", {128});
  EXPECT_EQ(encode(*vector, testing::bell(128, 1)).payload.size(), 1 + 16U * 4 + 16 * 6 / 8);
}

TEST(Demo, OneCosineIsOneCoefficient) {
  const std::vector<double> cosine = testing::dct_matrix(64)[5];
  const std::vector<float> gradient(cosine.begin(), cosine.end());
  const auto decoded = sent_values(*make_of_shape("demo:topk=1", {64}), gradient);
  for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(decoded[i], gradient[i], 1e-6);
}

/// Sorts every chunk separately.
std::vector<std::uint32_t> plain_chunks(const std::vector<float>& c, const Chunks& chunks) {
  std::vector<std::uint32_t> all;
  for (std::size_t at = 0; at < c.size(); at += chunks.size) {
    const std::size_t end = std::min(c.size(), at + chunks.size);
    const std::vector<float> chunk(c.begin() + static_cast<std::ptrdiff_t>(at),
                                   c.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::uint32_t i :
         testing::plain_top_k(chunk, KeyOrder::kMagnitude, std::min(chunks.k, chunk.size()))) {
      all.push_back(static_cast<std::uint32_t>(at) + i);
    }
  }
  return all;
}

TEST(ChunkedTopK, IsTopKOfEveryChunk) {
  const auto inputs = testing::with_non_finite(
      testing::finite_inputs({4, 6, 69, 71, 4095, 4096, 4097, 65535, 65537}));
  testing::for_each_target_and_input(inputs, [](const std::vector<float>& c) {
    for (const Chunks& chunks :
         {Chunks{4096, 64}, Chunks{64, 1}, Chunks{64, 64}, Chunks{256, 300}, Chunks{1024, 500}}) {
      SCOPED_TRACE("chunks of " + std::to_string(chunks.size));
      const auto selector = make_chunked_top_k_selector(c.size(), chunks);
      const Selection selection = testing::select(*selector, c);
      ASSERT_EQ(testing::positions_of(selection), plain_chunks(c, chunks));
      ASSERT_EQ(selection.count, chunks.selected(c.size()));
      ASSERT_EQ(selector->max_selected(), selection.count);
    }
  });
}

testing::Positions round_trip(const PositionCodec& codec, const testing::Positions& positions,
                              std::size_t elements, std::size_t block) {
  const auto bytes = testing::encode(codec, positions, elements);
  PositionCursor cursor = codec.start(ByteReader(bytes), positions.size(), elements);
  std::vector<std::uint32_t> decoded(positions.size());
  for (std::size_t at = 0; at < decoded.size(); at += block) {
    codec.decode(cursor, std::span(decoded).subspan(at, std::min(block, decoded.size() - at)));
  }
  codec.finish(cursor);
  return decoded;
}

TEST(ChunkedCodec, RoundTripsWhateverWasDropped) {
  const Chunks chunks{64, 5};
  const auto codec = make_chunked_codec(chunks);
  SplitMix64 random(1);
  for (std::size_t n : {0UL, 1UL, 5UL, 64UL, 65UL, 1000UL, 1024UL}) {
    const auto all = plain_chunks(testing::heavy(n, 1), chunks);
    for (std::uint64_t kept : {0UL, 1UL, 50UL, 99UL, 100UL}) {
      std::vector<std::uint32_t> some;
      for (std::uint32_t position : all) {
        if (random.below(100) < kept) some.push_back(position);
      }
      for (std::size_t block : {1UL, 3UL, 1024UL}) {
        EXPECT_EQ(round_trip(*codec, some, n, block), some) << n << ' ' << kept;
      }
    }
  }
}

TEST(ChunkedCodec, TwelveBitsEach) {
  // SparseLoCo: 64 of 4096, 12 bits a position.
  const auto codec = make_chunked_codec({});
  const auto positions = plain_chunks(testing::heavy(40960, 2), {});
  EXPECT_EQ(testing::encode(*codec, positions, 40960).size(), 640U * 12 / 8);
  EXPECT_EQ(codec->expected_bits(0.01), 12);
}

TEST(ChunkedCodec, RefusesPositionsOutOfOrder) {
  // Two of 64: positions 5 and 3.
  const auto codec = make_chunked_codec({64, 2});
  std::vector<std::byte> bytes(2);
  const auto read = [&](std::uint32_t first, std::uint32_t second, std::size_t elements) {
    BitWriter writer(bytes);
    writer.put(first, 6);
    writer.put(second, 6);
    writer.finish();
    testing::decode(*codec, bytes, 2, elements);
  };
  EXPECT_NO_THROW(read(3, 5, 64));
  EXPECT_THROW(read(5, 3, 64), PayloadError);
  EXPECT_THROW(read(5, 5, 64), PayloadError);
  EXPECT_THROW(read(3, 50, 40), PayloadError);  // past the end
  EXPECT_THROW(read(63, 0, 64), PayloadError);
  EXPECT_THROW(codec->start(ByteReader(bytes), 3, 64), PayloadError);
}

TEST(SparseLoCo, SendsSixtyFourOfEachChunkAndForgetsATwentieth) {
  const auto gradient = testing::heavy(3 * 4096, 1);
  const auto compressor = make("sparseloco:values=fp32", gradient.size());
  const auto first = encode(*compressor, gradient);
  EXPECT_EQ(first.report.selected_elements, 3U * 64);
  const auto decoded = testing::decode(*compressor, first.payload);
  // Without a new gradient the next step sends 0.95 of what was left.
  auto left = gradient;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = 0.95F * (left[i] - decoded[i]);
  const auto next = sent_values(*compressor, std::vector<float>(gradient.size(), 0.0F));
  std::vector<float> expected(left.size(), 0.0F);
  for (std::uint32_t i : plain_chunks(left, {})) expected[i] = left[i];
  EXPECT_EQ(next, expected);
}

TEST(Ef21, PresetIsTopKWithItsMemory) {
  const auto gradient = testing::heavy(5000, 1);
  EXPECT_EQ(encode(*make("ef21", 5000), gradient).payload,
            encode(*make("topk:memory=ef21", 5000), gradient).payload);
  EXPECT_TRUE(make("ef21", 5000)->incremental());
}

// Positions are numbers of coefficients, which padding multiplies.
TEST(Demo, HasFewerThanTwoToThe32Coefficients) {
  const DemoOptions options{.shape = {65, 34'000'000}, .elements = 2'210'000'000, .chunk = 64};
  EXPECT_THROW(make_demo_quantizer(options), InputError);
}

}  // namespace

}  // namespace thinpipe
