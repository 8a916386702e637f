// A rate is what crosses the link in a second.
#include <gtest/gtest.h>

#include "netem/verify.h"
#include "tests/kernel/datagrams.h"
#include "tests/kernel/in_sandbox.h"
#include "tests/kernel/statistics.h"

namespace thinpipe {
namespace {

TEST(Rate, TcpGetsItsShare) {
  for (const char* rate : {"rate=10mbit", "rate=50mbit,burst=32kb"}) {
    const auto check = in_sandbox([&]() -> std::vector<double> {
      Star star(2);
      VerifyOptions quick;
      quick.seconds = 1;
      const LinkCheck found = verify_link(star, parse_link_spec(rate), quick);
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
  const auto gaps = in_sandbox([] {
    Star star(2);
    star.set_links(parse_link_spec("rate=4mbit,burst=3000"));
    TrainOptions train;
    train.count = 200;
    train.spacing = 0;
    train.bytes = 1000;
    const std::vector<Arrival> arrivals = send_train(star, 0, 1, train);
    std::vector<double> found;
    for (std::size_t i = 10; i < arrivals.size(); ++i)
      found.push_back(arrivals[i].arrived - arrivals[i - 1].arrived);
    return found;
  });
  ASSERT_EQ(gaps.size(), 190U);  // the queue of the link, 256 KiB, holds all 200
  const double expected = 1042 * 8 / 4e6;
  double sum = 0;
  for (const double gap : gaps) sum += gap;
  const double mean = sum / static_cast<double>(gaps.size());
  note("mean gap", mean * 1e3, "ms");
  EXPECT_NEAR(mean, expected, 0.03 * expected);
}

}  // namespace
}  // namespace thinpipe
