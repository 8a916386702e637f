#include "reports/record/machine.h"

#include <nlohmann/json.hpp>
#include <span>

namespace thinpipe {
namespace {

constexpr const char* kMachine[] = {"cpu",          "cores",
                                    "smt",          "turbo",
                                    "governor",     "l1d_bytes",
                                    "l2_bytes",     "l3_bytes",
                                    "memory_bytes", "cpu_limit",
                                    "kernel",       "architecture",
                                    "hz",           "memory_limit_bytes",
                                    "gpu"};
constexpr const char* kBuild[] = {"compiler", "flags",      "thinpipe",           "git",
                                  "mpi",      "transports", "congestion_control", "sysctls",
                                  "qdiscs",   "environment"};

void add_differences(const nlohmann::json& one, const nlohmann::json& other,
                     std::span<const char* const> keys, std::vector<std::string>& differences) {
  for (const char* key : keys) {
    const auto a = one.find(key), b = other.find(key);
    if (a == one.end() || b == other.end() || *a == *b) continue;
    differences.push_back(std::string(key) + ": " + a->dump() + " against " + b->dump());
  }
}

}  // namespace

std::vector<std::string> machine_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<std::string> differences;
  add_differences(one, other, kMachine, differences);
  return differences;
}

std::vector<std::string> setting_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<std::string> differences = machine_differences(one, other);
  add_differences(one, other, kBuild, differences);
  return differences;
}

}  // namespace thinpipe
