#include "netem/schedule/player.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

// Expectations inside a sandbox are in another process: they are thrown, and the exit code tells.
void require(bool condition, const std::string& what) {
  if (!condition) throw RunError(what);
}

TEST(SchedulePlayer, StopsAtOnceAndOpensWhatWasHeld) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              SchedulePlayer player(network, parse_link_spec("rate=10mbit"),
                                    parse_schedule("outage:first=0s,lasts=1000s"));
              player.start();
              const double begin = player.now();
              player.stop();
              require(player.now() - begin < 1, "it waited for the end of the outage");
              player.stop();  // again is nothing
              player.check();
              require(player.up().at(500).rate == 0, "the schedule it was given");
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, SharesAreOfEachDirectionsOwn) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(1);
              const SchedulePlayer player(network,
                                          parse_link_spec("up.rate=10mbit,down.rate=40mbit"),
                                          parse_schedule("steps:0s=100%,1s=50%"));
              const LinkMean mean = player.mean(0, 2);
              require(mean.up_rate == 7.5e6 && mean.down_rate == 30e6, "rates");
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, RefusesLinksThatItWouldChangeInOtherWays) {
  for (const char* link : {"rate=10mbit,place=switch", "rate=10mbit,overhead=24",
                           "rate=10mbit,shaper=netem", "delay=10ms"})
    EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
                Network network(1);
                const SchedulePlayer player(network, parse_link_spec(link),
                                            parse_schedule("outage:first=1s,lasts=1s"));
                return 0;
              }),
              kExitUsage)
        << link;
}

TEST(SchedulePlayer, SaysWhichInterfaceIsMissing) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              try {
                const ScheduleQdisc qdisc("nowhere0", 1e6, 0, 100000);
              } catch (const RunError& error) {
                return std::string(error.what()).find("nowhere0") != std::string::npos ? 0 : 1;
              }
              return 2;
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
