// The machine is read from a made-up tree of /proc and /sys.
#include "harness/doctor/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

class DoctorMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(::testing::TempDir()) /
        ("doctor_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n");
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n");
    write("proc/loadavg", "0.10 0.20 0.30 1/100 1234\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  fs::path root_;
};

State state_of(const MachineState& machine, const std::string& name) {
  const std::vector<Finding> findings = machine_findings(machine);
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.name == name; });
  EXPECT_NE(found, findings.end()) << name;
  return found->state;
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

}  // namespace
}  // namespace thinpipe
