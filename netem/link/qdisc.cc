#include "netem/link/qdisc.h"

#include <linux/pkt_sched.h>

#include <algorithm>
#include <cmath>

#include "netem/link/attributes.h"

namespace thinpipe {
namespace {

std::vector<Mismatch> compare(const TbfSettings& asked, std::span<const std::byte> options) {
  const AttributeReader attributes(options, "tbf");
  const auto got = attributes.get<tc_tbf_qopt>(TCA_TBF_PARMS);
  Comparison comparison;
  comparison.expect<std::uint64_t>("tbf rate in bytes/s (TCA_TBF_RATE64)", asked.rate,
                                   attributes.get_or<std::uint64_t>(TCA_TBF_RATE64, got.rate.rate));
  comparison.expect<std::uint64_t>("tbf limit (TCA_TBF_PARMS)", asked.limit, got.limit);
  comparison.expect<std::uint64_t>("tbf overhead (TCA_TBF_PARMS)", asked.overhead,
                                   got.rate.overhead);
  const double ticks =
      transmit_ticks(asked.burst + asked.overhead, static_cast<double>(asked.rate));
  if (std::fabs(got.buffer - ticks) > 2 + ticks * 1e-6)
    comparison.expect<std::uint64_t>("tbf burst in 64 ns of transmit time (TCA_TBF_BURST)",
                                     static_cast<std::uint64_t>(ticks), got.buffer);
  return std::move(comparison).found();
}

constexpr std::uint32_t kProtocolVersion = 3;
constexpr std::uint16_t kHtbClass = 1;        // minor number of the one class
constexpr std::uint32_t kRateToQuantum = 10;  // unused, since the class sets its own quantum

tc_ratespec rate_spec(std::uint64_t rate, std::uint32_t overhead) {
  tc_ratespec spec = {};
  spec.rate = static_cast<std::uint32_t>(std::min<std::uint64_t>(rate, UINT32_MAX));
  spec.overhead = static_cast<unsigned short>(overhead);
  spec.linklayer = TC_LINKLAYER_ETHERNET;  // avoids the need for a rate table
  return spec;
}

std::vector<Mismatch> compare_root(std::span<const std::byte> options) {
  const auto got = AttributeReader(options, "htb").get<tc_htb_glob>(TCA_HTB_INIT);
  Comparison comparison;
  comparison.expect<std::uint64_t>("htb default class (TCA_HTB_INIT)", kHtbClass, got.defcls);
  return std::move(comparison).found();
}

std::vector<Mismatch> compare_class(const HtbClassSettings& asked, const tc_htb_opt& sent,
                                    std::span<const std::byte> options) {
  const AttributeReader attributes(options, "htb class");
  const auto got = attributes.get<tc_htb_opt>(TCA_HTB_PARMS);
  Comparison comparison;
  const auto expect = [&](const char* setting, std::uint64_t wanted, std::uint64_t found) {
    comparison.expect(setting, wanted, found);
  };
  expect("htb rate in bytes/s (TCA_HTB_RATE64)", asked.rate,
         attributes.get_or<std::uint64_t>(TCA_HTB_RATE64, got.rate.rate));
  expect("htb ceil in bytes/s (TCA_HTB_CEIL64)", asked.rate,
         attributes.get_or<std::uint64_t>(TCA_HTB_CEIL64, got.ceil.rate));
  expect("htb burst in 64 ns (TCA_HTB_PARMS)", sent.buffer, got.buffer);
  expect("htb cburst in 64 ns (TCA_HTB_PARMS)", sent.cbuffer, got.cbuffer);
  expect("htb quantum (TCA_HTB_PARMS)", asked.quantum, got.quantum);
  expect("htb overhead (TCA_HTB_PARMS)", asked.overhead, got.rate.overhead);
  return std::move(comparison).found();
}

}  // namespace

std::uint32_t transmit_ticks(double bytes, double rate) {
  const double ticks = std::ceil(bytes * 1e9 / rate / kTickNanoseconds);
  return static_cast<std::uint32_t>(std::min(ticks, static_cast<double>(UINT32_MAX)));
}

std::uint64_t bytes_per_second(double bits_per_second) {
  return static_cast<std::uint64_t>(std::llround(bits_per_second / 8));
}

QdiscRequest tbf_request(const TbfSettings& settings) {
  tc_tbf_qopt parameters = {};
  parameters.rate = rate_spec(settings.rate, settings.overhead);
  parameters.limit = settings.limit;
  parameters.buffer = transmit_ticks(settings.burst, static_cast<double>(settings.rate));
  AttributeWriter options;
  options.put(TCA_TBF_PARMS, parameters);
  options.put(TCA_TBF_RATE64, settings.rate);
  options.put(TCA_TBF_BURST, settings.burst);
  return {"tbf", options.bytes(),
          [settings](std::span<const std::byte> got) { return compare(settings, got); }};
}

QdiscRequest fifo_request(std::uint32_t limit) {
  AttributeWriter options;
  options.put_struct(tc_fifo_qopt{limit});
  return {"bfifo", options.bytes(), [limit](std::span<const std::byte> got) {
            Comparison comparison;
            comparison.expect<std::uint64_t>(
                "bfifo limit", limit,
                AttributeReader::read_struct<tc_fifo_qopt>(got, "bfifo").limit);
            return std::move(comparison).found();
          }};
}

QdiscRequest htb_request() {
  AttributeWriter options;
  options.put(TCA_HTB_INIT, tc_htb_glob{.version = kProtocolVersion,
                                        .rate2quantum = kRateToQuantum,
                                        .defcls = kHtbClass,
                                        .debug = 0,
                                        .direct_pkts = 0});
  return {"htb", options.bytes(), compare_root};
}

QdiscRequest htb_class_request(const HtbClassSettings& settings) {
  tc_htb_opt parameters = {};
  parameters.rate = parameters.ceil = rate_spec(settings.rate, settings.overhead);
  parameters.buffer = parameters.cbuffer =
      transmit_ticks(settings.burst, static_cast<double>(settings.rate));
  parameters.quantum = settings.quantum;
  AttributeWriter options;
  options.put(TCA_HTB_PARMS, parameters);
  options.put(TCA_HTB_RATE64, settings.rate);
  options.put(TCA_HTB_CEIL64, settings.rate);
  return {"htb", options.bytes(), [settings, parameters](std::span<const std::byte> got) {
            return compare_class(settings, parameters, got);
          }};
}

}  // namespace thinpipe
