#include "compressors/encode/zero_run.h"

#include <gtest/gtest.h>

#include <vector>

#include "compressors/random.h"

namespace thinpipe {
namespace {

using Packed = std::vector<std::uint8_t>;

Packed encode(const Packed& packed) {
  Packed out(packed.size());
  out.resize(zero_run_encode(packed.data(), packed.size(), out.data()));
  return out;
}

Packed plain_decode(const Packed& encoded) {
  Packed packed;
  for (std::uint8_t byte : encoded) {
    if (byte < 243) {
      packed.push_back(byte);
    } else {
      packed.insert(packed.end(), byte - 243 + 2, 121);
    }
  }
  return packed;
}

TEST(ZeroRun, RunsAsThePaperSays) {
  EXPECT_EQ(encode({}), Packed{});
  EXPECT_EQ(encode({121}), Packed{121});
  EXPECT_EQ(encode({121, 121}), Packed{243});
  EXPECT_EQ(encode(Packed(14, 121)), Packed{255});
  EXPECT_EQ(encode(Packed(15, 121)), (Packed{255, 121}));
  EXPECT_EQ(encode(Packed(16, 121)), (Packed{255, 243}));
  EXPECT_EQ(encode({0, 121, 242, 121, 121, 121, 7}), (Packed{0, 121, 242, 244, 7}));
}

TEST(ZeroRun, RoundTrip) {
  SplitMix64 random(2);
  for (int round = 0; round < 300; ++round) {
    Packed packed(random.below(200));
    const std::uint64_t mix = 1 + random.below(20);
    for (std::uint8_t& byte : packed) {
      byte = random.below(mix) == 0 ? static_cast<std::uint8_t>(random.below(243)) : 121;
    }
    ASSERT_EQ(plain_decode(encode(packed)), packed);
  }
}

}  // namespace
}  // namespace thinpipe
