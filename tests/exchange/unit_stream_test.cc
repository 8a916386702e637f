#include "workloads/exchange/unit_stream.h"

#include <gtest/gtest.h>

#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

// What a sender puts on its way before any answer, and with the answers to some units.
TEST(UnitSender, StaysSoFarAheadOfWhatWasAnswered) {
  constexpr std::size_t kUnits = 8;
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 2);
  UnitSender paced(transport, 1, 0, 100, 0, kUnits, 10000);
  UnitSender free(transport, 1, 100, 100, 1, kUnits);
  const std::vector<std::byte> payload(4000);
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    paced.add(unit, payload);
    free.add(unit, payload);
  }
  free.advance();
  EXPECT_EQ(transport.counters().messages, kUnits);
  const auto sent = [&] {
    const std::uint64_t before = transport.counters().messages;
    paced.advance();
    return transport.counters().messages - before;
  };
  // The first, and those that begin less than 10000 bytes after its end: at 0, 4000 and 8000.
  EXPECT_EQ(sent(), 4U);
  EXPECT_EQ(sent(), 0U);
  paced.answered(1);  // not the first
  EXPECT_EQ(sent(), 0U);
  paced.answered(0);
  EXPECT_EQ(sent(), 2U);
  EXPECT_FALSE(paced.idle());
  for (const std::uint32_t unit : {2U, 3U, 4U, 5U}) paced.answered(unit);
  EXPECT_EQ(sent(), 2U);
  EXPECT_TRUE(paced.advance() || paced.idle());
}

TEST(UnitSender, IsAheadByOneUnitHoweverLong) {
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 2);
  UnitSender paced(transport, 1, 0, 100, 0, 3, 1);
  const std::vector<std::byte> payload(100000);  // 4 segments
  for (std::uint32_t unit = 0; unit < 3; ++unit) paced.add(unit, payload);
  paced.advance();
  EXPECT_EQ(transport.counters().messages, 8U);
}

}  // namespace
}  // namespace thinpipe
