#include "netem/probe.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

KernelFeatures all_there() {
  const KernelFeature yes{true, "made"};
  return {.namespaces = yes,
          .veth = yes,
          .bridge = yes,
          .ifb = yes,
          .tbf = yes,
          .htb = yes,
          .netem = yes};
}

TEST(MissingFor, IsNothingWhereTheKernelHasAll) {
  for (const char* link : {"rate=1mbit", "rate=1mbit,shaper=htb", "lte", "rate=1mbit,place=switch"})
    EXPECT_EQ(missing_for(parse_link_spec(link), all_there()), "") << link;
}

TEST(MissingFor, NamesLinkFeatureRemedyAndWhatWorks) {
  KernelFeatures features = all_there();
  features.netem = {false, "no sch_netem"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit,queue=64kb,mtu=9000"), features), "");
  const std::string message = missing_for(parse_link_spec("rate=1mbit,delay=10ms"), features);
  for (const char* part : {"rate=1mbit,delay=10ms", "needs netem", "no sch_netem",
                           "modprobe sch_netem", "links with rate, burst"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  features = all_there();
  features.ifb = {false, "no ifb"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit,delay=10ms"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,up.delay=10ms"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,place=switch"), features), "");
  features = all_there();
  features.htb = {false, "no sch_htb"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,shaper=htb"), features), "");
}

TEST(RequireKernelFeatures, SaysWhatThisKernelLacks) {
  EXPECT_NO_THROW(require_kernel_features({parse_link_spec("rate=1mbit")}));
  const std::vector<LinkSpec> links = {parse_link_spec("rate=1mbit"), parse_link_spec("wan-100ms")};
  if (probe_kernel().netem.available)
    EXPECT_NO_THROW(require_kernel_features(links));
  else
    EXPECT_THROW(require_kernel_features(links), RunError);
}

}  // namespace
}  // namespace thinpipe
