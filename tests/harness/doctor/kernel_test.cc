#include "harness/doctor/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

KernelFeatures all_there() {
  const KernelFeature yes{true, "made"};
  KernelFeatures features;
  features.namespaces = features.veth = features.bridge = features.ifb = yes;
  features.tbf = features.htb = features.netem = yes;
  return features;
}

const Finding& named(const std::vector<Finding>& findings, const std::string& name) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.name == name; });
  EXPECT_NE(found, findings.end()) << name;
  return *found;
}

TEST(DoctorKernel, AllThere) {
  const std::vector<Finding> findings = kernel_findings(all_there());
  EXPECT_TRUE(can_run(findings));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.state, State::kGood) << finding.name;
    EXPECT_TRUE(finding.cost.empty()) << finding.name;
  }
}

TEST(DoctorKernel, NetemIsOptionalAndTbfIsNot) {
  KernelFeatures features = all_there();
  features.netem = {false, "no sch_netem"};
  std::vector<Finding> findings = kernel_findings(features);
  EXPECT_EQ(named(findings, "netem").state, State::kAbsent);
  EXPECT_EQ(named(findings, "netem").found, "no sch_netem");
  EXPECT_FALSE(named(findings, "netem").cost.empty());
  EXPECT_TRUE(can_run(findings));
  features.tbf = {false, "no sch_tbf"};
  findings = kernel_findings(features);
  EXPECT_EQ(named(findings, "TBF").state, State::kFatal);
  EXPECT_FALSE(can_run(findings));
}

TEST(DoctorKernel, SettingsThatForbidNamespacesAreNamed) {
  const TemporaryFolder folder;
  const fs::path& sys = folder.path();
  fs::create_directories(sys / "kernel");
  fs::create_directories(sys / "user");
  std::ofstream(sys / "kernel/unprivileged_userns_clone") << "0\n";
  std::ofstream(sys / "user/max_user_namespaces") << "0\n";
  std::ofstream(sys / "kernel/apparmor_restrict_unprivileged_userns") << "1\n";
  const std::vector<Finding> findings = kernel_findings({}, sys);
  const std::string remedy = named(findings, "namespaces").remedy;
  EXPECT_EQ(named(findings, "namespaces").state, State::kFatal);
  EXPECT_NE(remedy.find("kernel.unprivileged_userns_clone=1"), std::string::npos) << remedy;
  EXPECT_NE(remedy.find("user.max_user_namespaces=15000"), std::string::npos) << remedy;
  EXPECT_NE(remedy.find("apparmor_restrict_unprivileged_userns=0"), std::string::npos) << remedy;
  std::ofstream(sys / "kernel/unprivileged_userns_clone") << "1\n";
  std::ofstream(sys / "user/max_user_namespaces") << "9000\n";
  std::ofstream(sys / "kernel/apparmor_restrict_unprivileged_userns") << "0\n";
  EXPECT_EQ(named(kernel_findings({}, sys), "namespaces").remedy.find("sysctl"), std::string::npos);
}

}  // namespace
}  // namespace thinpipe
