#include "workloads/replay/message.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

TEST(SplitMessage, GivesEachTensorItsPayload) {
  // Two lengths (3 and 0), then three bytes.
  const auto message = bytes({3, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9});
  std::vector<std::span<const std::byte>> payloads(2);
  split_message(message, payloads);
  ASSERT_EQ(payloads[0].size(), 3U);
  EXPECT_EQ(payloads[0][1], std::byte{8});
  EXPECT_TRUE(payloads[1].empty());
}

TEST(SplitMessage, RefusesLengthsThatDoNotFit) {
  std::vector<std::span<const std::byte>> payloads(1);
  EXPECT_THROW(split_message(bytes({1, 0, 0}), payloads), InputError);        // no table
  EXPECT_THROW(split_message(bytes({2, 0, 0, 0, 1}), payloads), InputError);  // too short
  EXPECT_THROW(split_message(bytes({0, 0, 0, 0, 1}), payloads), InputError);  // too long
  EXPECT_THROW(split_message(bytes({255, 255, 255, 255, 1}), payloads), InputError);
}

}  // namespace
}  // namespace thinpipe
