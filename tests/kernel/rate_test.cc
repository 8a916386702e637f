// A rate is what crosses the link in a second.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/kernel/datagrams.h"
#include "tests/kernel/in_sandbox.h"
#include "tests/kernel/statistics.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

TEST(Rate, TcpGetsItsShare) {
  for (const char* rate : {"rate=10mbit,burst=32kb", "rate=50mbit,burst=64kb"}) {
    const auto check = in_sandbox([&]() -> std::vector<double> {
      Network network(2);
      VerifyOptions quick;
      quick.seconds = 1;
      const LinkCheck found = verify_link(network, parse_link_spec(rate), quick);
      return {found.goodput, found.ceiling, found.wire_ratio};
    });
    note(std::string(rate) + " delivers", check[0] / 1e6, "Mbit/s");
    EXPECT_NEAR(check[0] / check[1], 1, 0.03) << rate;
    // Handshake, FIN and acknowledgement frames are all that comes on top of full frames.
    EXPECT_GT(check[2], 0.999) << rate;
    EXPECT_LT(check[2], 1.01) << rate;
  }
}

// A frame of 1000 + 42 bytes takes 2.084 ms at 4 Mbit/s, once the bucket is empty.
TEST(Rate, SpacesDatagramsByTheirLength) {
  TrainOptions train;
  train.count = 200;
  train.spacing = 0;
  train.bytes = 1000;
  const auto arrivals = train_over("rate=4mbit,burst=16kb", train);
  ASSERT_EQ(arrivals.size(), 200U);  // the queue of the link, 256 KiB, holds them all
  const double expected = 1042 * 8 / 4e6;
  const double gap = (arrivals[199].arrived - arrivals[39].arrived) / 160;
  note("mean gap", gap * 1e3, "ms");
  EXPECT_NEAR(gap, expected, 0.03 * expected);
}

// A queue of 20,000 bytes is emptied in 40 ms: nobody waits longer, and the rest is dropped.
TEST(Queue, BoundsTheWait) {
  TrainOptions train;
  train.count = 200;
  train.spacing = 0;
  train.bytes = 1000;
  const auto arrivals = train_over("rate=4mbit,burst=16kb,queue=20000", train);
  double longest = 0;
  for (const Arrival& one : arrivals) longest = std::max(longest, one.delay());
  note("longest wait", longest * 1e3, "ms");
  note("arrived", static_cast<double>(arrivals.size()), "of 200");
  EXPECT_GT(longest, 30e-3);
  // The sender's qdisc, then the switch's, whose queue is empty when frames come in at its rate.
  EXPECT_LT(longest, 50e-3);
  EXPECT_LT(arrivals.size(), 200U);
}

}  // namespace
}  // namespace thinpipe
