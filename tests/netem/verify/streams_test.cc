#include "netem/verify/streams.h"

#include <gtest/gtest.h>

#include "netem/verify/expected.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

TEST(Streams, CountTheAcknowledgementsThatShareTheLink) {
  measure_between_two([](Network& network) {
    const LinkSpec link = parse_link_spec("rate=20mbit");
    network.set_links(link);
    // Longer than link_report.cc's first attempt (1.2 s), which others follow: a window that left
    // slow start too early takes a while to get to the link's rate.
    const TcpStreamOptions options{.seconds = 0.6, .settle = 2, .windows = 3, .buffer = 0.4};
    const auto measured = [&](const std::vector<Flow>& flows) {
      return valid([&] { return run_streams(network, link, flows, options); }).streams;
    };
    const double alone = measured({{0, 1}})[0].goodput;
    const std::vector<StreamFigures> both = measured({{0, 1}, {1, 0}});
    for (const int i : {0, 1}) {
      const StreamFigures &way = both[static_cast<std::size_t>(i)],
                          &other = both[static_cast<std::size_t>(1 - i)];
      const double ceiling = ceiling_beside_acks(link, other.acks);
      // Segments come at 1650 a second, and one in two to four is acknowledged.
      require(way.acks > 200 && way.acks < 1700, fmt::format("{} a second", way.acks));
      require(way.goodput < alone, "less than alone");
      require(std::abs(way.goodput / ceiling - 1) < 0.03,
              fmt::format("{} of {}", way.goodput, ceiling));
    }
  });
}

}  // namespace
}  // namespace thinpipe
