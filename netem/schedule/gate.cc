#include "netem/schedule/gate.h"

#include <linux/pkt_sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/attributes.h"

namespace thinpipe {

namespace {

constexpr std::uint64_t kOpenRate = 50'000'000'000;  // bytes/s: the gate is no throttle
constexpr double kPollSeconds = 1e-3;                // a shut gate looks again so often
// What a shut gate takes every packet for at least (the widest `mpu` there is), and the bucket,
// which holds less.
constexpr std::uint32_t kShutSize = 65535, kShutBucket = 60000;

struct Throttle {
  std::uint64_t rate = 0;      // bytes/s
  std::uint32_t bucket = 0;    // bytes
  std::uint16_t smallest = 0;  // bytes that a packet is taken for at least
};

Throttle throttle_of(const GateSettings& settings) {
  if (settings.open) return {kOpenRate, settings.cut, 0};
  const std::uint32_t bucket = std::min(settings.cut, kShutBucket);
  // Waiting for what the bucket cannot hold takes kPollSeconds; then it looks again. A rate near 0
  // would do too, but look again hours later.
  return {static_cast<std::uint64_t>((kShutSize - bucket) / kPollSeconds), bucket, kShutSize};
}

std::vector<Mismatch> compare(const Throttle& asked, std::uint32_t limit,
                              std::span<const std::byte> options) {
  const AttributeReader attributes(options, "gate");
  const auto got = attributes.get<tc_tbf_qopt>(TCA_TBF_PARMS);
  Comparison comparison;
  comparison.expect<std::uint64_t>("gate rate in bytes/s (TCA_TBF_RATE64)", asked.rate,
                                   attributes.has(TCA_TBF_RATE64)
                                       ? attributes.get<std::uint64_t>(TCA_TBF_RATE64)
                                       : got.rate.rate);
  comparison.expect<std::uint64_t>("gate limit (TCA_TBF_PARMS)", limit, got.limit);
  comparison.expect<std::uint64_t>("gate mpu (TCA_TBF_PARMS)", asked.smallest, got.rate.mpu);
  const std::uint32_t ticks = transmit_ticks(asked.bucket, static_cast<double>(asked.rate));
  if (got.buffer + 2 < ticks || got.buffer > ticks + 2)  // kept as time, rounded twice
    comparison.expect<std::uint64_t>("gate bucket in 64 ns of transmit time (TCA_TBF_PARMS)", ticks,
                                     got.buffer);
  return std::move(comparison).found();
}

}  // namespace

QdiscRequest gate_request(const GateSettings& settings) {
  const Throttle throttle = throttle_of(settings);
  tc_tbf_qopt parameters = {};
  parameters.rate.rate =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(throttle.rate, UINT32_MAX));
  parameters.rate.mpu = throttle.smallest;
  parameters.rate.linklayer = TC_LINKLAYER_ETHERNET;  // so that no rate table is needed
  parameters.limit = settings.limit;
  parameters.buffer = transmit_ticks(throttle.bucket, static_cast<double>(throttle.rate));
  AttributeWriter options;
  options.put(TCA_TBF_PARMS, parameters);
  // TCA_TBF_BURST would make the bucket large enough for `mpu`: only the open gate has it.
  if (settings.open) {
    options.put(TCA_TBF_RATE64, throttle.rate);
    options.put(TCA_TBF_BURST, throttle.bucket);
  }
  return {"tbf", options.bytes(),
          [throttle, limit = settings.limit](std::span<const std::byte> got) {
            return compare(throttle, limit, got);
          }};
}

void require_gate() {
  utsname kernel = {};
  int major = 0, minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2 ||
      major < 5 || (major == 5 && minor < 17))
    throw RunError(fmt::format("schedules need Linux 5.17 or later; this is {}", kernel.release));
}

}  // namespace thinpipe
