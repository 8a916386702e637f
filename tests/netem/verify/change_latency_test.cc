#include "netem/verify/change_latency.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "netem/link/shaping.h"
#include "netem/schedule/throttle.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

const LinkSpec kChangedLink = parse_link_spec("rate=20mbit");

template <class Measure>
ChangeFigures of_valid(const Measure& measure) {
  return valid([&] { return watched(measure); }).value;
}

TEST(ChangeLatency, IsShortAndLosesNothing) {
  measure_between_two([](Network& network) {
    network.set_links(kChangedLink);
    const ChangeFigures found = of_valid([&] {
      return measure_change_latency(network, kChangedLink, {0, 1}, {});
    });
    require(found.not_measured.empty(), found.not_measured);
    require(found.lost == 0 && found.sent > 500,
            fmt::format("{} of {} lost", found.lost, found.sent));
    require(found.unseen <= 2, fmt::format("{} not seen", found.unseen));
    // A frame of 1000 bytes takes 0.4 ms.
    require(std::abs(found.median) < 10e-3, fmt::format("after {} s", found.median));
  });
}

// A controller that takes 30 ms, and one that rebuilds what is there.
TEST(ChangeLatency, ShowsOneThatIsSlowAndOneThatLoses) {
  measure_between_two([](Network& network) {
    network.set_links(parse_link_spec("up.rate=20mbit"));
    network.host(0).inside([&] {
      ScheduleQdisc throttle("thin0", {.highest_rate = 20e6, .queue = 262144});
      const ChangeFigures slow = of_valid([&] {
        return measure_changes(network, kChangedLink, {0, 1}, {}, [&](double rate) {
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          throttle.set_rate(rate);
        });
      });
      require(slow.median > 28e-3 && slow.median < 45e-3,
              fmt::format("30 ms late: {} s", slow.median));
    });
    network.host(0).inside([&] {
      Netlink netlink;
      const ChangeFigures loses =
          measure_changes(network, kChangedLink, {0, 1}, {}, [&](double rate) {
            LinkSpec link = kChangedLink;
            link.up.rate = rate;
            install(netlink, "thin0", shaping_of(link).host);
          });
      require(loses.lost > 10, fmt::format("{} lost", loses.lost));
    });
  });
}

// What is told to nobody is not seen.
TEST(ChangeLatency, ShowsOneThatDoesNothing) {
  measure_between_two([](Network& network) {
    network.set_links(kChangedLink);
    const ChangeFigures found = of_valid([&] {
      return measure_changes(network, kChangedLink, {0, 1}, {.changes = 4}, [](double) {});
    });
    require(found.unseen == 4, fmt::format("{} of 4 not seen", found.unseen));
  });
}

}  // namespace
}  // namespace thinpipe
