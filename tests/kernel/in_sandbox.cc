#include "tests/kernel/in_sandbox.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "base/error.h"
#include "netem/sandbox.h"
#include "tests/netem/measured.h"

namespace thinpipe {

namespace {

// What the sandboxed process leaves in memory that it shares with this one.
struct Shared {
  std::size_t count;
  char error[1000];
  Disturbance machine;
  double figures[1'000'000];
};

Watched<std::vector<double>> measure_once(const std::function<std::vector<double>()>& body) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("map shared memory");
  auto* shared = static_cast<Shared*>(memory);  // zeros
  const int code = run_in_sandbox([&](const Sandbox&) {
    try {
      const auto [figures, machine] = watched(body);
      shared->machine = machine;
      if (figures.size() > std::size(shared->figures)) throw RunError("too many figures");
      std::copy(figures.begin(), figures.end(), shared->figures);
      shared->count = figures.size();
      return kExitGood;
    } catch (const std::exception& error) {
      std::strncpy(shared->error, error.what(), sizeof(shared->error) - 1);
      return kExitFailed;
    }
  });
  const Watched<std::vector<double>> measured{{shared->figures, shared->figures + shared->count},
                                              shared->machine};
  const std::string error = shared->error;
  munmap(memory, sizeof(Shared));
  if (code != kExitGood)
    throw RunError(error.empty() ? fmt::format("the sandbox exits with {}", code) : error);
  return measured;
}

}  // namespace

std::vector<double> in_sandbox(const std::function<std::vector<double>()>& body) {
  try {
    // Delays are judged to within 5 %, and links have buckets of 30 ms, which make up for that much
    // (docs/kernel-tests.md). A guest on a quiet machine stood still for 1 to 6 % of a measurement.
    constexpr double kGuestShare = 0.05;
    return valid([&] { return measure_once(body); }, kGuestShare).value;
  } catch (const MachineTooBusy& busy) {
    [&] { GTEST_SKIP() << busy.what(); }();
  }
  // GoogleTest's own, which ends a test that has told its result.
  throw ::testing::AssertionException(
      ::testing::TestPartResult(::testing::TestPartResult::kSkip, nullptr, -1, ""));
}

std::vector<double> counts_in_sandbox(const std::function<std::vector<double>()>& body) {
  return measure_once(body).value;
}

void note(const std::string& name, double value, const std::string& unit) {
  const std::string text = fmt::format("{:.4g} {}", value, unit);
  ::testing::Test::RecordProperty(name, text);
  fmt::print("  {}: {}\n", name, text);
}

}  // namespace thinpipe
