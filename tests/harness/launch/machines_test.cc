// Machines that a run starts on: counted, emulated, or named by a user.
#include "harness/launch/machines.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "harness/hosts/hosts.h"
#include "harness/launch/emulated_machines.h"

namespace thinpipe {
namespace {

WireCount counted(std::uint64_t sent, std::uint64_t drops, std::vector<ThroughSwitch> switches,
                  std::vector<WireCount::OnTrunk> trunks) {
  WireCount count;
  count.sent = sent;
  count.drops = drops;
  count.switches = std::move(switches);
  count.trunks = std::move(trunks);
  return count;
}

TEST(Wire, CountsWhatCameBetweenTwoReadings) {
  const WireCount before = counted(100, 1, {{"rack0", 50, 40}}, {{"rack0-spine", 10, 20, 1}});
  const WireCount after = counted(400, 3, {{"rack0", 350, 240}}, {{"rack0-spine", 110, 70, 2}});
  const WireCount count = between(before, after);
  EXPECT_EQ(count.sent, 300U);
  EXPECT_EQ(count.drops, 2U);
  EXPECT_EQ(count.switches[0].in, 300U);
  EXPECT_EQ(count.switches[0].out, 200U);
  EXPECT_EQ(trunks_json(count).dump(),
            R"([{"down_bytes":50,"drops":1,"link":"rack0-spine","up_bytes":100}])");
}

TEST(Wire, CountsEachHostsSegments) {
  WireCount before, after;
  before.segments_by = {1000, 2000};
  before.retransmitted_by = {0, 5};
  after.segments_by = {1500, 2001};
  after.retransmitted_by = {0, 7};
  const WireCount count = between(before, after);
  EXPECT_EQ(count.segments_by, (std::vector<std::uint64_t>{500, 1}));
  EXPECT_EQ(count.retransmitted_by, (std::vector<std::uint64_t>{0, 2}));
}

// A qdisc that was replaced counts from 0 again: that is no enormous number of bytes.
TEST(Wire, ACounterThatWentBackIsTold) {
  const WireCount before = counted(400, 0, {{"switch", 50, 40}}, {});
  WireCount after = counted(450, 0, {{"switch", 60, 45}}, {});
  EXPECT_FALSE(between(before, after).restarted);
  after.switches[0].out = 39;
  EXPECT_TRUE(between(before, after).restarted);
  EXPECT_EQ(between(before, after).switches[0].out, 0U);
}

// Where no other run of this machine is seen.
class OtherRunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = getenv("TMPDIR")) before_ = before;
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));  // nothing is created in it
    std::filesystem::remove(folder_);
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }
  std::string folder_ = "/tmp/thinpipe-other-runs-XXXXXX", before_;
};

TEST_F(OtherRunsTest, NobodySeesItself) { EXPECT_FALSE(OtherRuns().any()); }

TEST_F(OtherRunsTest, EachSeesTheOtherAsLongAsItIsThere) {
  const OtherRuns one;
  auto two = std::make_unique<OtherRuns>();
  EXPECT_TRUE(one.any());
  EXPECT_TRUE(two->any());
  two.reset();
  EXPECT_FALSE(one.any());
}

TEST_F(OtherRunsTest, ASandboxedChildIsNoOther) {
  const OtherRuns one;
  const pid_t child = fork();
  if (child == 0) _exit(one.any() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(OtherRunsTest, AKilledOneIsGone) {
  const OtherRuns one;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const OtherRuns two;
    if (::write(ready[1], "x", 1) == 1) pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(one.any());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(one.any());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(OtherRunsTest, AFolderThatIsNotThereHidesEverybody) {
  setenv("TMPDIR", "/nonexistent", 1);
  const OtherRuns one, two;
  EXPECT_FALSE(one.any());
}

using Names = std::vector<std::string>;

class Hostfile : public ::testing::Test {
 protected:
  Names read(const std::string& text) {
    std::ofstream(path_) << text << std::flush;
    return read_hostfile(path_);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  // Each test is a process of its own, beside others.
  const std::string path_ = ::testing::TempDir() + "hostfile-test-" + std::to_string(getpid());
};

TEST_F(Hostfile, NamesCommentsAndSlots) {
  EXPECT_EQ(read("# our rack\nnode1 slots=4\n\n  node2\tslots=2 max_slots=8 # the old one\n"
                 "10.0.0.7\nfe80::1\r\nroot@node-3.example.org\n"),
            (Names{"node1", "node2", "10.0.0.7", "fe80::1", "root@node-3.example.org"}));
  EXPECT_EQ(read("one"), Names{"one"});  // without a newline at the end
}

TEST_F(Hostfile, ErrorsNameFileAndLine) {
  const std::string at = path_ + ":";
  EXPECT_EQ(refusal("a\nb\na\n"), at + "3: 'a' is already in line 1; a machine gets one rank");
  EXPECT_EQ(refusal("a slot=4\n"), at + "1: 'slot=4' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a slots=0\n"), at + "1: 'slots=0' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a slots=four\n"),
            at + "1: 'slots=four' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a\n-oProxyCommand=x\n"),
            at + "2: '-oProxyCommand=x' is not the name of a machine");
  EXPECT_EQ(refusal("a;reboot\n"), at + "1: 'a;reboot' is not the name of a machine");
  EXPECT_EQ(refusal("# nobody\n\n"),
            at.substr(0, at.size() - 1) + ": names no machine; expected one on each line");
}

TEST_F(Hostfile, AFileThatIsNotThere) {
  EXPECT_THROW(read_hostfile("/nonexistent/hosts"), InputError);
  EXPECT_THROW(read_hostfile(::testing::TempDir()), InputError);  // a folder
}

TEST(NodeList, RangesListsAndWidths) {
  EXPECT_EQ(expand_node_list("login"), Names{"login"});
  EXPECT_EQ(expand_node_list("node[01-03,7],gpu1"),
            (Names{"node01", "node02", "node03", "node7", "gpu1"}));
  EXPECT_EQ(expand_node_list("n[9-11]"), (Names{"n9", "n10", "n11"}));
  EXPECT_EQ(expand_node_list("n[098-101]"), (Names{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expand_node_list("r[1-2]c[0-1]-x"), (Names{"r1c0-x", "r1c1-x", "r2c0-x", "r2c1-x"}));
}

TEST(NodeList, WhatCannotBeRead) {
  for (const char* bad :
       {"", ",a", "a,", "a,,b", "n[1-2", "n1-2]", "n[]", "n[2-1]", "n[a-b]", "n[1-]", "n[1,]",
        "n[[1]]", "n[0-999999999]", "n[0-999]n[0-999]", "n[1-99999999999]"})
    EXPECT_THROW(expand_node_list(bad), InputError) << bad;
}

class Slurm : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NUM_NODES"})
      unsetenv(name);
  }
};

TEST_F(Slurm, TheNodesOfAnAllocation) {
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"node1", "node2"}));
  setenv("SLURM_JOB_NUM_NODES", "2", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"node1", "node2"}));
  setenv("SLURM_JOB_NUM_NODES", "3", 1);
  EXPECT_THROW(slurm_nodes(), InputError);
  unsetenv("SLURM_JOB_NUM_NODES");
  unsetenv("SLURM_JOB_NODELIST");
  setenv("SLURM_NODELIST", "old[7-8]", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"old7", "old8"}));
}

TEST_F(Slurm, ListsThatExpandToTooManyAreRefusedBeforeTheyAreMade) {
  EXPECT_EQ(expand_node_list("n[0-65535]").size(), 65536U);
  for (const char* list : {"n[0-65536]", "n[0-65535][0-65535]", "n[0-65535,0]", "n[0-65535],m",
                           "n[0-99999][0-99999][0-99999]", "n[0-4294967296]", "n[-1-2]", "n[1--2]"})
    EXPECT_THROW(expand_node_list(list), InputError) << list;
}

TEST_F(Slurm, OutsideAnAllocation) {
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  EXPECT_THROW(slurm_nodes(), InputError);
}

}  // namespace

}  // namespace thinpipe
