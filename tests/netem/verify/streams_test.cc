#include "netem/verify/streams.h"

#include <gtest/gtest.h>

#include "netem/verify/expected.h"
#include "tests/netem/verify/attempts.h"

namespace thinpipe {
namespace {

TEST(Streams, CountTheAcknowledgementsThatShareTheLink) {
  EXPECT_EQ(attempts_with_two_hosts([](Network& network) {
              const LinkSpec link = parse_link_spec("rate=20mbit");
              network.set_links(link);
              const TcpStreamOptions options{
                  .seconds = 0.6, .settle = 1.2, .windows = 3, .buffer = 0.4};
              const double alone = run_streams(network, link, {{0, 1}}, options)[0].goodput;
              const std::vector<StreamFigures> both =
                  run_streams(network, link, {{0, 1}, {1, 0}}, options);
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
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
