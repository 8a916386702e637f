#include "compressors/encode/value_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe {
namespace {

TEST(ValueCodec, DecodesWhatEncodeSaysItWill) {
  for (const std::string& name : value_codec_names()) {
    SCOPED_TRACE(name);
    const auto codec = make_value_codec(name);
    for (std::size_t n : {0UL, 1UL, 2UL, 1000UL}) {
      auto values = testing::heavy(n, n);
      if (n > 1) values[1] = std::numeric_limits<float>::quiet_NaN();
      std::vector<std::byte> bytes(codec->size(n));
      ByteWriter out(bytes);
      codec->encode(values, out);
      EXPECT_EQ(out.size(), codec->size(n));
      std::vector<float> decoded(n);
      codec->decode(bytes, 0, std::span(decoded).first(n / 3));
      codec->decode(bytes, n / 3, std::span(decoded).subspan(n / 3));
      EXPECT_EQ(testing::bits(decoded), testing::bits(values));
    }
  }
}

TEST(ValueCodec, SizesAndValues) {
  std::vector<float> values = {1, 2, 6};
  const auto mean = make_mean_codec();
  EXPECT_EQ(mean->size(1000), 4U);
  EXPECT_EQ(mean->size(0), 0U);
  std::vector<std::byte> bytes(4);
  ByteWriter out(bytes);
  mean->encode(values, out);
  EXPECT_EQ(values, (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(make_fp32_codec()->size(1000), 4000U);
  EXPECT_THROW(make_value_codec("fp31"), InputError);
}

}  // namespace
}  // namespace thinpipe
