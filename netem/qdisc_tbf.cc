#include "netem/qdisc_tbf.h"

#include <linux/pkt_sched.h>

#include <algorithm>
#include <cmath>

#include "netem/attributes.h"

namespace thinpipe {

namespace {

std::uint32_t low_rate(std::uint64_t rate) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(rate, UINT32_MAX));
}

std::vector<Mismatch> compare(const TbfSettings& asked, std::span<const std::byte> options) {
  const AttributeReader attributes(options, "tbf");
  const auto got = attributes.get<tc_tbf_qopt>(TCA_TBF_PARMS);
  const std::uint64_t rate = attributes.has(TCA_TBF_RATE64)
                                 ? attributes.get<std::uint64_t>(TCA_TBF_RATE64)
                                 : got.rate.rate;
  Comparison comparison;
  comparison.expect<std::uint64_t>("tbf rate in bytes/s (TCA_TBF_RATE64)", asked.rate, rate);
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

}  // namespace

QdiscRequest tbf_request(const TbfSettings& settings) {
  tc_tbf_qopt parameters = {};
  parameters.rate.rate = low_rate(settings.rate);
  parameters.rate.overhead = static_cast<unsigned short>(settings.overhead);
  parameters.rate.linklayer = TC_LINKLAYER_ETHERNET;  // so that no rate table is needed
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

}  // namespace thinpipe
