// A kernel that these tests run on has everything that links are made of.
#include <gtest/gtest.h>

#include "netem/probe.h"

namespace thinpipe {
namespace {

TEST(Features, AllAreThere) {
  const KernelFeatures features = probe_kernel();
  for (const KernelFeature& feature : {features.namespaces, features.veth, features.bridge,
                                       features.ifb, features.tbf, features.htb, features.netem})
    EXPECT_TRUE(feature.available) << feature.detail;
}

}  // namespace
}  // namespace thinpipe
