// The machine: its CPU, read from a made-up tree of /proc and /sys, GPUs and programs.
#include "harness/machine/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "harness/machine/gpu.h"
#include "harness/machine/programs.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Processor, WhatTheSystemDoesNotShowIsNull) {
  const TemporaryFolder root;
  const nlohmann::json json = processor_description(root.path());
  for (const char* key : {"smt", "turbo", "l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes",
                          "cpu_limit", "memory_limit_bytes"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
  EXPECT_GE(json.at("hz").get<int>(), 24);  // of this kernel, for any tree
}

TEST(Processor, AsTheKernelWritesIt) {
  const TemporaryFolder root;
  const std::filesystem::path cpu = root.path() / "sys/devices/system/cpu";
  write_bytes(cpu / "smt/active", "1\n");
  write_bytes(cpu / "intel_pstate/no_turbo", "1\n");
  int index = 0;
  for (const auto& [level, type, size] : {std::tuple{"1", "Data", "48K"},
                                          {"1", "Instruction", "32K"},
                                          {"2", "Unified", "2048K"},
                                          {"3", "Unified", "260M"}}) {
    const std::filesystem::path cache = cpu / "cpu0/cache" / ("index" + std::to_string(index++));
    write_bytes(cache / "level", level);
    write_bytes(cache / "type", type);
    write_bytes(cache / "size", size);
  }
  write_bytes(root.path() / "proc/meminfo", "MemTotal:       1024 kB\nMemFree:  1 kB\n");
  write_bytes(root.path() / "sys/fs/cgroup/cpu.max", "150000 100000\n");
  write_bytes(root.path() / "sys/fs/cgroup/memory.max", "max\n");
  const nlohmann::json json = processor_description(root.path());
  EXPECT_EQ(json.at("smt"), true);
  EXPECT_EQ(json.at("turbo"), false);
  EXPECT_EQ(json.at("l1d_bytes"), 48 << 10);
  EXPECT_EQ(json.at("l2_bytes"), 2 << 20);
  EXPECT_EQ(json.at("l3_bytes"), 260 << 20);
  EXPECT_EQ(json.at("memory_bytes"), 1 << 20);
  EXPECT_EQ(json.at("cpu_limit"), 1.5);
  EXPECT_TRUE(json.at("memory_limit_bytes").is_null());
}

TEST(Processor, TurboOfOtherDrivers) {
  const TemporaryFolder root;
  write_bytes(root.path() / "sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(processor_description(root.path()).at("turbo"), true);
}

// A machine with two GPUs, and an nvidia-smi that runs these shell commands.
class Graphics : public ::testing::Test {
 protected:
  Graphics() {
    write_bytes(root.path() / "sys/module/nvidia/version", "580.65.06\n");
    for (const char* card : {"0000:02:00.0", "0000:01:00.0"})
      write_bytes(root.path() / "proc/driver/nvidia/gpus" / card / "information",
                  std::string("Model: \t\t NVIDIA H") + card[6] + "00\nIRQ:   \t\t 1\n");
  }

  void let_tool_say(const std::string& commands) {
    const std::filesystem::path program = root.path() / "bin/nvidia-smi";
    write_bytes(program, "#!/bin/sh\n" + commands);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    path_.set(program.parent_path());
  }

  nlohmann::json described() const { return graphics_description(root.path()); }

  const TemporaryFolder root;

 private:
  EnvironmentVariable path_{"PATH"};
};

TEST_F(Graphics, WithoutTheModuleThereIsNone) {
  let_tool_say("echo 1,1,1,1,1,1\n");
  std::filesystem::remove(root.path() / "sys/module/nvidia/version");
  const nlohmann::json json = described();
  EXPECT_TRUE(json.at("card").is_null());
  EXPECT_TRUE(json.at("clocks").is_null());
}

// The fake tool prints like nvidia-smi 580: clocks in MHz, and brackets around fields that a card
// lacks. It answers the query field by field.
TEST_F(Graphics, DriverModelsAndClocks) {
  let_tool_say(
      "[ \"$2\" = --format=csv,noheader,nounits ] || exit 1\n"
      "fields=${1#--query-gpu=}\n"
      "say() {\n"
      "  line=\n"
      "  for field in $(IFS=,; echo $fields); do\n"
      "    case $field in\n"
      "      clocks.max.sm) value=1980 ;;\n"
      "      clocks.max.memory) value=3201 ;;\n"
      "      clocks.applications.graphics) value=$1 ;;\n"
      "      clocks.applications.memory) value=3200 ;;\n"
      "      clocks.sm) value=345 ;;\n"
      "      clocks.memory) value=$2 ;;\n"
      "      *) exit 1 ;;\n"
      "    esac\n"
      "    line=\"$line${line:+, }$value\"\n"
      "  done\n"
      "  echo \"$line\"\n"
      "}\n"
      "say 1830 2619\n"
      "say '[N/A]' '[Not Supported]'\n");
  nlohmann::json json = described();
  // The tool has 10 s, in which a program of idle priority may get no CPU.
  for (int i = 0; i < 10 && json.at("clocks").is_null(); ++i) json = described();
  const nlohmann::json& card = json.at("card");
  EXPECT_EQ(card.at("driver"), "580.65.06");
  EXPECT_EQ(card.at("models"), nlohmann::json::array({"NVIDIA H100", "NVIDIA H200"}));
  EXPECT_EQ(card.at("clocks").dump(),
            R"([{"memory_hz":3201000000,"set_memory_hz":3200000000,"set_sm_hz":1830000000,)"
            R"("sm_hz":1980000000},{"memory_hz":3201000000,"set_memory_hz":3200000000,)"
            R"("set_sm_hz":null,"sm_hz":1980000000}])");
  EXPECT_EQ(json.at("clocks").dump(),
            R"([{"memory_hz":2619000000,"sm_hz":345000000},{"memory_hz":null,"sm_hz":345000000}])");
}

TEST_F(Graphics, ClocksAreNullWhereNobodyTells) {
  for (const char* commands :
       {"echo 'NVIDIA-SMI has failed'; exit 9\n", "echo 1,2,3,4,5,6; exit 1\n", "echo what\n"}) {
    let_tool_say(commands);
    const nlohmann::json json = described();
    EXPECT_EQ(json.at("card").at("driver"), "580.65.06");
    EXPECT_TRUE(json.at("card").at("clocks").is_null()) << commands;
    EXPECT_TRUE(json.at("clocks").is_null()) << commands;
  }
  std::filesystem::remove(root.path() / "bin/nvidia-smi");
  EXPECT_TRUE(described().at("card").at("clocks").is_null());
}

// tests/nvml; beside this program.
std::string fake() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_nvml.so";
}

TEST(Nvml, TellsWhatTheCardTells) {
  const auto state = ask_nvml("0000:0a:00.0", fake());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->driver, "580.1");
  EXPECT_EQ(state->sm_hz, 1'980'000'000u);
  EXPECT_EQ(state->memory_hz, std::nullopt);
}

TEST(Nvml, NothingWithoutTheCardOrTheLibrary) {
  EXPECT_EQ(ask_nvml("0000:0b:00.0", fake()), std::nullopt);
  EXPECT_EQ(ask_nvml("0000:0a:00.0", "libthere-is-none.so.1"), std::nullopt);
  EXPECT_EQ(ask_nvml("0000:0a:00.0", "libc.so.6"), std::nullopt);  // without its functions
}

TEST(Programs, FoundBesideThisOne) {
  EXPECT_EQ(find_program("harness_tests").filename(), "harness_tests");
}

TEST(Programs, AbsenceSaysWhereAndWhatItMeans) {
  EXPECT_THAT(error_text<RunError>([] { find_program("thinpipe-nowhere"); }),
              AllOf(HasSubstr("thinpipe-nowhere in /"), HasSubstr("libexec/thinpipe"),
                    HasSubstr("incomplete")));
}

TEST(Programs, PathIsSearched) {
  const auto shell = find_in_path("sh");
  ASSERT_TRUE(shell.has_value());
  EXPECT_EQ(shell->filename(), "sh");
  EXPECT_FALSE(find_in_path("no-such-program-anywhere").has_value());
}

}  // namespace
}  // namespace thinpipe
