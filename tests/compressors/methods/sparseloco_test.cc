#include <gtest/gtest.h>

#include "compressors/methods/selectors.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::make;

/// Every chunk sorted by itself.
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
  auto inputs = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) inputs.push_back(std::move(input));
  for (std::size_t n : {4, 6, 69, 71, 4095, 4096, 4097, 65535, 65537}) {
    inputs.push_back({"heavy " + std::to_string(n), testing::heavy(n, n)});
  }
  testing::for_each_target([&] {
    for (const Chunks& chunks :
         {Chunks{4096, 64}, Chunks{64, 1}, Chunks{64, 64}, Chunks{256, 300}, Chunks{1024, 500}}) {
      for (const auto& [name, c] : inputs) {
        SCOPED_TRACE(name + " in chunks of " + std::to_string(chunks.size));
        const auto selector = make_chunked_top_k_selector(c.size(), chunks);
        Selection selection = testing::make_selection(c.size());
        selector->select(c, {}, selection);
        ASSERT_EQ(testing::positions_of(selection), plain_chunks(c, chunks));
        ASSERT_EQ(selection.count, chunks.selected(c.size()));
        ASSERT_EQ(selector->max_selected(), selection.count);
      }
    }
  });
}

std::vector<std::uint32_t> round_trip(const PositionCodec& codec,
                                      const std::vector<std::uint32_t>& positions,
                                      std::size_t elements, std::size_t block) {
  std::vector<std::byte> bytes(codec.max_size(positions.size(), elements));
  ByteWriter out(bytes);
  codec.encode(positions, elements, out);
  bytes.resize(out.size());
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
  std::vector<std::byte> bytes(codec->max_size(positions.size(), 40960));
  ByteWriter out(bytes);
  codec->encode(positions, 40960, out);
  EXPECT_EQ(out.size(), 640U * 12 / 8);
  EXPECT_EQ(codec->expected_bits(0.01), 12);
}

TEST(ChunkedCodec, RefusesPositionsOutOfOrder) {
  // Two of 64: positions 5 and 3.
  const auto codec = make_chunked_codec({64, 2});
  std::vector<std::byte> bytes(2);
  const auto refused = [&](std::uint32_t first, std::uint32_t second, std::size_t elements) {
    BitWriter writer(bytes);
    writer.put(first, 6);
    writer.put(second, 6);
    writer.finish();
    try {
      PositionCursor cursor = codec->start(ByteReader(bytes), 2, elements);
      std::vector<std::uint32_t> positions(2);
      codec->decode(cursor, positions);
      codec->finish(cursor);
    } catch (const PayloadError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused(3, 5, 64));
  EXPECT_TRUE(refused(5, 3, 64));
  EXPECT_TRUE(refused(5, 5, 64));
  EXPECT_TRUE(refused(3, 50, 40));  // past the end
  EXPECT_TRUE(refused(63, 0, 64));
  EXPECT_THROW(codec->start(ByteReader(bytes), 3, 64), PayloadError);
}

TEST(SparseLoCo, SendsSixtyFourOfEachChunkAndForgetsATwentieth) {
  const auto gradient = testing::heavy(3 * 4096, 1);
  const auto compressor = make("sparseloco:values=fp32", gradient.size());
  const auto first = encode(*compressor, gradient);
  EXPECT_EQ(first.report.selected_elements, 3U * 64);
  const auto decoded = decode(*compressor, first.payload);
  // Without a new gradient the next step sends 0.95 of what was left.
  auto left = gradient;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = 0.95F * (left[i] - decoded[i]);
  const auto next =
      decode(*compressor, encode(*compressor, std::vector<float>(gradient.size(), 0.0F)).payload);
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

}  // namespace
}  // namespace thinpipe
