#include "tests/kernel/in_sandbox.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "base/error.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

// What the sandboxed process leaves in memory that it shares with this one.
struct Shared {
  std::size_t count;
  char error[1000];
  double figures[1'000'000];
};

}  // namespace

std::vector<double> in_sandbox(const std::function<std::vector<double>()>& body) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("map shared memory");
  auto* shared = static_cast<Shared*>(memory);  // zeros
  const int code = run_in_sandbox([&](const Sandbox&) {
    try {
      const std::vector<double> figures = body();
      if (figures.size() > std::size(shared->figures)) throw RunError("too many figures");
      std::copy(figures.begin(), figures.end(), shared->figures);
      shared->count = figures.size();
      return kExitGood;
    } catch (const std::exception& error) {
      std::strncpy(shared->error, error.what(), sizeof(shared->error) - 1);
      return kExitFailed;
    }
  });
  const std::vector<double> figures(shared->figures, shared->figures + shared->count);
  const std::string error = shared->error;
  munmap(memory, sizeof(Shared));
  if (code != kExitGood)
    throw RunError(error.empty() ? fmt::format("the sandbox exits with {}", code) : error);
  return figures;
}

void note(const std::string& name, double value, const std::string& unit) {
  const std::string text = fmt::format("{:.4g} {}", value, unit);
  testing::Test::RecordProperty(name, text);
  fmt::print("  {}: {}\n", name, text);
}

}  // namespace thinpipe
