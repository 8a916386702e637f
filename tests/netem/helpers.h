// Helpers of netem's tests: bytes as expected layouts show them, mismatches as text, planned
// topologies, expectations inside a sandbox, and measurements. Expectations inside a sandbox run in
// another process: failures are thrown, and set the exit code.
//
// A measurement that the program accepts as valid is judged; any other is repeated, a few times at
// most. After that the test is skipped, and its message names the sign of the busy machine.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/qdisc.h"
#include "netem/network.h"
#include "netem/sandbox.h"
#include "netem/topology/spec.h"
#include "netem/verify/datagrams.h"
#include "netem/verify/judge.h"
#include "netem/verify/link_report.h"
#include "netem/verify/machine_watch.h"
#include "netem/verify/measure_flows.h"
#include "netem/verify/streams.h"
#include "netem/verify/trial.h"
#include "netem/verify/verify_topology.h"
#include "tests/base/support.h"

namespace thinpipe {

/// Bytes as hexadecimal digits in words of four.
inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i > 0 && i % 4 == 0 ? " " : "", static_cast<int>(bytes[i]));
  return text;
}

inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char digit : text)
    if (digit != ' ') digits += digit;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Settings of a qdisc that the kernel did not take as requested, a line each.
inline std::string settings_of(const std::vector<Mismatch>& mismatches) {
  std::string text;
  for (const Mismatch& mismatch : mismatches)
    text += fmt::format("{}: {} {}\n", mismatch.setting, mismatch.asked, mismatch.got);
  return text;
}

/// Expectations inside a sandbox are in another process: they are thrown, and set the exit code.
inline void require(bool condition, const std::string& what) {
  if (!condition) throw RunError("not so: " + what);
}

inline void require_has(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "'" + part + "' is in: " + text);
}

inline std::string run_error(const std::function<void()>& action) {
  return error_text<RunError>(action);
}

/// Runs `body` in a sandbox, which must end with this exit code: not 0 if `body` must throw.
inline void expect_in_sandbox(const std::function<void()>& body, int code = kExitGood) {
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
              body();
              return 0;
            }),
            code);
}

inline Topology planned(const std::string& text, int hosts,
                        const std::string& link = "rate=100mbit") {
  return parse_topology(text).plan(hosts, parse_link_spec(link));
}

// Measurements.

/// One direction of one link, host 0 to host 1 of a network whose links were set to one setting.
struct LinkCheck {
  double ceiling = 0;     ///< bit/s TCP can deliver at most: LinkSpec::tcp_ceiling()
  double goodput = 0;     ///< bit/s of TCP payload, median of the windows
  double round_trip = 0;  ///< s, median of small UDP datagrams over the idle link
  double wire_ratio = 0;  ///< frame bytes the qdisc counted / those the payload needs
  Disturbance machine;    ///< while the stream ran
  /// Negative is slower than the link should be.
  double deviation() const { return goodput / ceiling - 1; }
};

/// Sets and measures a link that has a rate. Needs a network of at least two hosts in a sandbox.
inline LinkCheck verify_link(Network& network, const LinkSpec& link,
                             const TcpStreamOptions& options) {
  constexpr int kPings = 100;
  LinkCheck check;
  check.ceiling = link.tcp_ceiling();
  network.set_links(link);
  const RoundTrips trips = measure_round_trips(network, kForward, idle_probes(link, kPings));
  if (trips.lost == trips.sent)
    throw RunError(fmt::format("link '{}': no probe came back", link.to_string()));
  check.round_trip = trips.median;

  const std::uint64_t counted_before = network.counters(0).up.bytes;
  const MeasuredStreams measured = run_streams(network, link, {kForward}, options);
  const StreamFigures& stream = measured.streams[0];
  check.machine = measured.machine;
  check.goodput = stream.goodput;
  const double needed = stream.payload * link.frame_bytes() / link.payload_bytes();
  check.wire_ratio = static_cast<double>(network.counters(0).up.bytes - counted_before) / needed;
  return check;
}

template <class Value>
struct Watched {
  Value value;
  Disturbance machine;
};

/// The result of `measure`, and the machine's activity meanwhile.
template <class Measure>
auto watched(const Measure& measure) {
  MachineWatch watch;
  auto value = measure();
  return Watched<decltype(value)>{std::move(value), watch.stop()};
}

/// No measurement was valid: "machine too busy (idle 0.4 %)".
class MachineTooBusy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The program's reason why a measurement is not valid; "" when it is.
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

/// Returns the result of valid() for a measurement that does not watch the machine itself.
template <class Measure>
auto valid_result(const Measure& measure) {
  return valid([&] { return watched(measure); }).value;
}

/// Runs `body` in a sandbox, without repeats. MachineTooBusy skips the test; any other exception
/// fails it.
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
