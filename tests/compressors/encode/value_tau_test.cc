#include "compressors/encode/value_tau.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

TEST(TauCodec, OneBitAValue) {
  // Signs + - - + + + - + - -: the second, third and seventh bit of the first byte, both of the
  // second.
  std::vector<float> values = {2, -2, -0.5F, 3, 0, 1, -1, 1, -2, -2};
  const auto codec = make_tau_codec(0.5F);
  std::vector<std::byte> bytes(codec->size(values.size()));
  ByteWriter out(bytes);
  codec->encode(values, out);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0b01000110}, std::byte{0b11}}));
  const std::vector<float> expected = {0.5, -0.5, -0.5, 0.5, 0.5, 0.5, -0.5, 0.5, -0.5, -0.5};
  EXPECT_EQ(values, expected);
  for (std::size_t first = 0; first < expected.size(); ++first) {
    std::vector<float> some(expected.size() - first);
    codec->decode(bytes, first, some);
    EXPECT_EQ(some, std::vector<float>(expected.begin() + static_cast<std::ptrdiff_t>(first),
                                       expected.end()));
  }
  EXPECT_EQ(codec->size(0), 0U);
  EXPECT_EQ(codec->size(8), 1U);
}

}  // namespace
}  // namespace thinpipe
