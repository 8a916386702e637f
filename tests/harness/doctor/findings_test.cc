// Findings of `thinpipe doctor`: the kernel, the machine and its software.
#include "harness/doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/machine.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
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
  const auto finding = [&](const char* clone, const char* most, const char* restricted) {
    write_bytes(folder / "kernel/unprivileged_userns_clone", clone);
    write_bytes(folder / "user/max_user_namespaces", most);
    write_bytes(folder / "kernel/apparmor_restrict_unprivileged_userns", restricted);
    return named(kernel_findings({}, folder.path()), "namespaces");
  };
  const Finding forbidden = finding("0\n", "0\n", "1\n");
  EXPECT_EQ(forbidden.state, State::kFatal);
  for (const char* part : {"kernel.unprivileged_userns_clone=1", "user.max_user_namespaces=15000",
                           "apparmor_restrict_unprivileged_userns=0"})
    EXPECT_THAT(forbidden.remedy, HasSubstr(part));
  EXPECT_THAT(finding("1\n", "9000\n", "0\n").remedy, Not(HasSubstr("sysctl")));
}

TEST(DoctorNetemTests, SaysWhichKernelTheyHave) {
  const KernelFeature yes{true, "made"}, no{false, "no sch_netem"};
  Finding finding = netem_tests_finding(yes, {});
  EXPECT_EQ(finding.state, State::kGood);
  EXPECT_EQ(finding.found, "on this kernel; no user-mode Linux or QEMU in PATH");
  EXPECT_EQ(netem_tests_finding(yes, {"user-mode Linux 6.1.1"}).found,
            "on this kernel; in a guest: user-mode Linux 6.1.1");
  finding = netem_tests_finding(no, {"user-mode Linux 6.1.1", "QEMU 7.2"});
  EXPECT_EQ(finding.state, State::kGood);
  EXPECT_EQ(finding.found,
            "in a guest: user-mode Linux 6.1.1 or QEMU 7.2; this kernel has no netem");
  finding = netem_tests_finding(no, {});
  EXPECT_EQ(finding.state, State::kAbsent);
  EXPECT_FALSE(finding.cost.empty());
  EXPECT_THAT(finding.remedy, HasSubstr("./setup"));
}

// The machine is read from a made-up tree of /proc and /sys.
class DoctorMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n");
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n");
    write("proc/loadavg", "0.10 0.20 0.30 1/100 1234\n");
  }
  void write(const fs::path& name, const std::string& text) { write_bytes(root_ / name, text); }
  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

State state_of(const MachineState& machine, const std::string& name) {
  return named(machine_findings(machine), name).state;
}

TEST_F(DoctorMachine, WithoutControlGroup) {
  const MachineState machine = read_machine(root_, root_);
  EXPECT_EQ(machine.cpu, "Some CPU @ 2 GHz");
  EXPECT_EQ(machine.memory_available, std::uint64_t{4} << 30);  // 4194304 kB
  EXPECT_DOUBLE_EQ(machine.load, 0.10);
  EXPECT_EQ(machine.governor, "");
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.disk_free, 0u);
}

TEST_F(DoctorMachine, ControlGroupLimits) {
  write("sys/fs/cgroup/cpu.max", "50000 100000\n");  // half a core
  write("sys/fs/cgroup/memory.max", "1073741824\n");
  write("sys/fs/cgroup/memory.current", "73741824\n");
  const MachineState machine = read_machine(root_, root_);
  EXPECT_DOUBLE_EQ(machine.cores, 0.5);
  EXPECT_EQ(machine.memory_available, 1'000'000'000u);
  EXPECT_EQ(state_of(machine, "cores"), State::kNote);
  EXPECT_EQ(state_of(machine, "memory"), State::kNote);
}

TEST_F(DoctorMachine, UnlimitedControlGroup) {
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  const MachineState machine = read_machine(root_, root_);
  EXPECT_GE(machine.cores, 1);
  EXPECT_EQ(machine.memory_available, std::uint64_t{4} << 30);
}

TEST_F(DoctorMachine, Judgement) {
  MachineState machine = read_machine(root_, root_);
  machine.cores = 4;
  machine.governor = "performance";
  EXPECT_EQ(state_of(machine, "governor"), State::kGood);
  machine.governor = "powersave";
  EXPECT_EQ(state_of(machine, "governor"), State::kNote);
  machine.load = 0.9;
  EXPECT_EQ(state_of(machine, "load"), State::kGood);
  machine.load = 1.1;  // over a quarter of 4 cores
  EXPECT_EQ(state_of(machine, "load"), State::kNote);
  machine.disk_free = 1000;
  EXPECT_EQ(state_of(machine, "disk"), State::kNote);
  EXPECT_TRUE(can_run(machine_findings(machine)));
}

TEST(DoctorSoftware, FirstLine) {
  EXPECT_EQ(first_line("/bin/echo", "one\ntwo"), "one");
  EXPECT_EQ(first_line("/bin/false", ""), std::nullopt);
  EXPECT_EQ(first_line("/no/such/program", ""), std::nullopt);
}

TEST(DoctorSoftware, WholeOutput) {
  EXPECT_EQ(output_of("/bin/echo", {"one\ntwo", "three"}), "one\ntwo three\n");
  EXPECT_EQ(output_of("/bin/false", {}), std::nullopt);
  EXPECT_EQ(output_of("/no/such/program", {}), std::nullopt);
}

TEST(DoctorSoftware, MpiVersions) {
  EXPECT_EQ(mpi_finding("mpirun (Open MPI) 4.1.4").state, State::kGood);
  EXPECT_EQ(mpi_finding("mpirun (Open MPI) 5.0.1").state, State::kNote);
  EXPECT_EQ(mpi_finding("HYDRA build details:").state, State::kFatal);
  EXPECT_EQ(mpi_finding(std::nullopt).state, State::kFatal);
}

TEST(DoctorGraphics, AGpuIsToldWithItsDriver) {
  const GpuStatus gpu{.available = true, .detail = "NVIDIA H100, 79 GiB"};
  EXPECT_EQ(gpu_finding(gpu, true, "580.1").found, "NVIDIA H100, 79 GiB; driver 580.1");
  EXPECT_EQ(gpu_finding(gpu, true, "").state, State::kGood);
}

TEST(DoctorGraphics, NoGpuHasAReasonAndARemedy) {
  const Finding none = gpu_finding({.available = false, .detail = "no device"}, true, "");
  EXPECT_EQ(none.state, State::kAbsent);
  EXPECT_EQ(none.found, "no device");
  const Finding built = gpu_finding({.available = false, .detail = "no toolkit"}, false, "");
  EXPECT_NE(built.remedy, none.remedy);
}

TEST(DoctorGraphics, MpiIsAskedWhetherItKnowsCuda) {
  const std::string line = "mca:opal:base:param:opal_built_with_cuda_support:value:";
  EXPECT_EQ(gpu_mpi_finding(line + "true\n", true).state, State::kGood);
  EXPECT_EQ(gpu_mpi_finding(line + "false\n", true).state, State::kAbsent);
  EXPECT_FALSE(gpu_mpi_finding(line + "false\n", true).remedy.empty());
  EXPECT_TRUE(gpu_mpi_finding(line + "false\n", false).remedy.empty());
  EXPECT_EQ(gpu_mpi_finding(std::nullopt, false).state, State::kAbsent);
}

}  // namespace
}  // namespace thinpipe
