// The processor is read from a made-up tree of /proc and /sys.
#include "harness/fingerprint/processor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/fingerprint/graphics.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Processor, WhatTheSystemDoesNotShowIsNull) {
  const TemporaryFolder root;
  const nlohmann::json json = processor_description(root.path());
  for (const char* key : {"smt", "turbo", "l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes",
                          "cpu_limit", "memory_limit_bytes"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
  EXPECT_GE(json.at("hz").get<int>(), 24);  // of this kernel, whatever the tree says
}

TEST(Processor, AsTheKernelWritesIt) {
  const TemporaryFolder root;
  const std::filesystem::path cpu = root.path() / "sys/devices/system/cpu";
  write(cpu / "smt/active", "1\n");
  write(cpu / "intel_pstate/no_turbo", "1\n");
  int index = 0;
  for (const auto& [level, type, size] : {std::tuple{"1", "Data", "48K"},
                                          {"1", "Instruction", "32K"},
                                          {"2", "Unified", "2048K"},
                                          {"3", "Unified", "260M"}}) {
    const std::filesystem::path cache = cpu / "cpu0/cache" / ("index" + std::to_string(index++));
    write(cache / "level", level);
    write(cache / "type", type);
    write(cache / "size", size);
  }
  write(root.path() / "proc/meminfo", "MemTotal:       1024 kB\nMemFree:  1 kB\n");
  write(root.path() / "sys/fs/cgroup/cpu.max", "150000 100000\n");
  write(root.path() / "sys/fs/cgroup/memory.max", "max\n");
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
  write(root.path() / "sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(processor_description(root.path()).at("turbo"), true);
}

TEST(Graphics, DriverAndModels) {
  const TemporaryFolder root;
  EXPECT_TRUE(graphics_description(root.path()).is_null());
  write(root.path() / "sys/module/nvidia/version", "580.65.06\n");
  write(root.path() / "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\n");
  const nlohmann::json json = graphics_description(root.path());
  EXPECT_EQ(json.at("driver"), "580.65.06");
  EXPECT_EQ(json.at("models"), nlohmann::json::array({"NVIDIA H200"}));
}

}  // namespace
}  // namespace thinpipe
