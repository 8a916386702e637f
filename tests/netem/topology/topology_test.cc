#include "netem/topology/topology.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

Topology star(int hosts) {
  return parse_topology("star").plan(hosts, parse_link_spec("rate=100mbit"));
}

TEST(LinksNamed, AHostARangeAllHosts) {
  const Topology topology = star(4);
  EXPECT_EQ(topology.links_named("host0"), std::vector<int>{0});
  EXPECT_EQ(topology.links_named("host3"), std::vector<int>{3});
  EXPECT_EQ(topology.links_named("host1-2"), (std::vector<int>{1, 2}));
  EXPECT_EQ(topology.links_named("hosts"), (std::vector<int>{0, 1, 2, 3}));
}

TEST(LinksNamed, NoHostIsOutsideOfTheTopology) {
  const Topology topology = star(4);
  for (const char* name :
       {"host-1", "host-2", "host-4", "host-0", "host-2147483648", "host-4-2", "host-4--2",
        "host1--2", "host-", "host1-", "host+1", "host 1", "host4", "host2-4", "host2-1",
        "host99999999999999999999", "host0-99999999999999999999", "host1.", "host1-2-3"})
    EXPECT_THROW(topology.links_named(name), InputError) << name;
}

}  // namespace

}  // namespace thinpipe
