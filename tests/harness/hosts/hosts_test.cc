#include "harness/hosts/hosts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace thinpipe {
namespace {

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
  EXPECT_EQ(refusal("a\nb\na\n"), at + "3: 'a' stands in line 1 already; a machine gets one rank");
  EXPECT_EQ(refusal("a slot=4\n"), at + "1: 'slot=4' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a slots=0\n"), at + "1: 'slots=0' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a slots=four\n"),
            at + "1: 'slots=four' after 'a': expected slots=N or max_slots=N");
  EXPECT_EQ(refusal("a\n-oProxyCommand=x\n"),
            at + "2: '-oProxyCommand=x' is not the name of a machine");
  EXPECT_EQ(refusal("a;reboot\n"), at + "1: 'a;reboot' is not the name of a machine");
  EXPECT_EQ(refusal("# nobody\n\n"),
            at.substr(0, at.size() - 1) + ": no machine is named in it; expected one a line");
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
