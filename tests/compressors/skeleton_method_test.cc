// The skeleton works as docs/adding-a-compressor.md promises, with what every method gets for free.
#include <gtest/gtest.h>

#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::make;

TEST(Skeleton, SendsWhatExceedsTheLimit) {
  const auto compressor = make("skeleton:limit=0.5", 5);
  const auto encoded = encode(*compressor, std::vector<float>{0.5F, -0.75F, 0.25F, 1, 0});
  EXPECT_EQ(decode(*compressor, encoded.payload), (std::vector<float>{0, -0.75F, 0, 1, 0}));
  EXPECT_EQ(encoded.report.selected_elements, 2U);
}

TEST(Skeleton, HasAMemoryWithoutALineOfItsOwn) {
  const auto compressor = make("skeleton:limit=0.5,positions=golomb", 1);
  const std::vector<float> gradient = {0.25F};
  EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload)[0], 0.0F);
  EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload)[0], 0.0F);
  EXPECT_EQ(decode(*compressor, encode(*compressor, gradient).payload)[0], 0.75F);
}

TEST(Skeleton, ItsParametersAreChecked) {
  EXPECT_THROW(make("skeleton:limit=-1", 5), InputError);
  EXPECT_THROW(make("skeleton:limt=1", 5), InputError);
}

}  // namespace
}  // namespace thinpipe
