// Tests that measure: what the program holds a valid measurement is judged, and what it does not is
// taken again, a few times at most; then the test is skipped, with the sign of the busy machine.
// Expectations inside a sandbox are in another process: they are thrown, and the exit code tells.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/machine_watch.h"
#include "netem/measure_flows.h"
#include "netem/sandbox.h"
#include "netem/schedule/trial.h"
#include "netem/verify.h"
#include "netem/verify/judge.h"
#include "netem/verify/streams.h"
#include "netem/verify_topology.h"
#include "tests/netem/require.h"

namespace thinpipe {

/// No measurement was valid: "machine too busy (idle 0.4 %)".
class MachineTooBusy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Why a measurement is not valid, as the program says it; "" when it is.
template <class Measured>
std::string disturbance_of(const Measured& measured, double share) {
  return measured.machine.reason(share);
}
inline std::string disturbance_of(const LinkReport& report, double) {
  return report.disturbed.empty() ? "" : report.disturbed.begin()->second;
}
inline std::string disturbance_of(const std::vector<ProbeCheck>& checks, double) {
  for (const ProbeCheck& check : checks)
    if (!check.disturbed.empty()) return check.disturbed;
  return "";
}

/// The first of three measurements that is valid. @throws MachineTooBusy when none is
/// @param share  see Disturbance::reason()
template <class Measure>
auto valid(const Measure& measure, double share = kMachineShare) {
  constexpr int kMeasurements = 3;
  for (int i = 1;; ++i) {
    auto measured = measure();
    const std::string reason = disturbance_of(measured, share);
    if (reason.empty()) return measured;
    fmt::print("measurement {} of {} is not valid: {}\n", i, kMeasurements, reason);
    std::fflush(stdout);
    if (i == kMeasurements) throw MachineTooBusy("machine too busy (" + reason + ")");
  }
}

/// Runs `body` in a sandbox, once. The test fails when it throws, and is skipped when that is
/// MachineTooBusy.
inline void measure_in_sandbox(const std::function<void()>& body) {
  constexpr int kTooBusy = 77;
  constexpr std::size_t kRoom = 500;  // bytes of the reason, which both processes see
  auto* const reason = static_cast<char*>(
      mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(reason), MAP_FAILED);
  const int code = run_in_sandbox([&](const Sandbox&) {
    try {
      body();
      return static_cast<int>(kExitGood);
    } catch (const MachineTooBusy& busy) {
      std::strncpy(reason, busy.what(), kRoom - 1);
      return kTooBusy;
    }
  });
  const std::string found = reason;
  munmap(reason, kRoom);
  if (code == kTooBusy) GTEST_SKIP() << found;
  EXPECT_EQ(code, kExitGood);
}

/// The same with a network of two hosts.
inline void measure_between_two(const std::function<void(Network&)>& body) {
  measure_in_sandbox([&] {
    Network network(2);
    body(network);
  });
}

}  // namespace thinpipe
