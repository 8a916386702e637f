#include "harness/doctor/netem_tests.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using State = Finding::State;

TEST(DoctorNetemTests, SaysWhichKernelTheyHave) {
  const KernelFeature yes{true, "made"}, no{false, "no sch_netem"};
  Finding finding = netem_tests_finding(yes, {});
  EXPECT_EQ(finding.state, State::kGood);
  EXPECT_EQ(finding.found, "on this kernel; no user-mode Linux or QEMU in PATH");
  EXPECT_EQ(netem_tests_finding(yes, {"user-mode Linux 6.1.1"}).found,
            "on this kernel; in a guest, user-mode Linux 6.1.1");
  finding = netem_tests_finding(no, {"user-mode Linux 6.1.1", "QEMU 7.2"});
  EXPECT_EQ(finding.state, State::kGood);
  EXPECT_EQ(finding.found,
            "in a guest, user-mode Linux 6.1.1 or QEMU 7.2; this kernel has no netem");
  finding = netem_tests_finding(no, {});
  EXPECT_EQ(finding.state, State::kAbsent);
  EXPECT_FALSE(finding.cost.empty());
  EXPECT_NE(finding.remedy.find("./setup"), std::string::npos);
}

}  // namespace
}  // namespace thinpipe
