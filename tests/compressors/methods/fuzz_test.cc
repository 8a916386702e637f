// Payloads from outside: decoding ends in a result or in a PayloadError, never otherwise.
#include <gtest/gtest.h>

#include "compressors/kernels/random.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::all_specs;
using testing::encode;
using testing::make;

/// @returns whether the payload was refused.
bool refused(const Compressor& compressor, std::span<const std::byte> payload,
             std::vector<float>& out) {
  try {
    // A copy of exactly this size lets a sanitizer see any read past its end.
    const std::vector<std::byte> exact(payload.begin(), payload.end());
    compressor.decode_add(exact, 1.0F, out);
  } catch (const PayloadError&) {
    return true;
  }
  return false;
}

TEST(Fuzz, EveryTruncationAndEveryExtensionIsRefused) {
  for (const std::string& spec : all_specs()) {
    for (std::size_t n : {0UL, 1UL, 64UL, 1003UL}) {
      SCOPED_TRACE(spec + " of " + std::to_string(n));
      const auto compressor = make(spec, n);
      auto payload = encode(*compressor, testing::heavy(n, 1)).payload;
      std::vector<float> out(n);
      for (std::size_t size = 0; size < payload.size(); ++size) {
        ASSERT_TRUE(refused(*compressor, std::span(payload).first(size), out)) << size;
      }
      EXPECT_FALSE(refused(*compressor, payload, out));
      for (int extra : {0, 1, 121, 255}) {
        payload.push_back(static_cast<std::byte>(extra));
        EXPECT_TRUE(refused(*compressor, payload, out)) << extra;
      }
    }
  }
}

TEST(Fuzz, FlippedBits) {
  SplitMix64 random(11);
  for (const std::string& spec : all_specs()) {
    const auto compressor = make(spec, 1003);
    const auto payload = encode(*compressor, testing::heavy(1003, 1)).payload;
    std::vector<float> out(1003);
    for (int round = 0; round < 1000; ++round) {
      auto damaged = payload;
      for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
        // Half of them in the first bytes, where counts and parameters are.
        const std::size_t range =
            random.below(2) == 0 ? std::min<std::size_t>(8, damaged.size()) : damaged.size();
        damaged[random.below(range)] ^= static_cast<std::byte>(1U << random.below(8));
      }
      refused(*compressor, damaged, out);
    }
  }
}

TEST(Fuzz, RandomBytes) {
  SplitMix64 random(12);
  for (const std::string& spec : all_specs()) {
    const auto compressor = make(spec, 200);
    std::vector<float> out(200);
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::byte> payload(random.below(60));
      for (std::byte& byte : payload) byte = static_cast<std::byte>(random.below(256));
      refused(*compressor, payload, out);
    }
  }
}

}  // namespace
}  // namespace thinpipe
