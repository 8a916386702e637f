// Requests for qdiscs: the options to send, and the comparison with what the kernel reports back.
// TBF, HTB and bfifo; netem is in qdisc_netem.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

/// A setting that the kernel reports with another value than requested.
struct Mismatch {
  std::string setting;  ///< such as "tbf rate (TCA_TBF_RATE64)"
  std::string asked, got;
};

/// A qdisc or a class to create or change. `options` is the content of TCA_OPTIONS.
struct QdiscRequest {
  std::string kind;
  std::vector<std::byte> options;
  /// Returns the differences between the kernel's TCA_OPTIONS and `options`, beyond the rounding
  /// that each kind documents. @throws RunError when the kernel's options cannot be parsed.
  std::function<std::vector<Mismatch>(std::span<const std::byte>)> mismatches;
};

/// Collects the settings whose requested and reported values differ.
class Comparison {
 public:
  template <typename T>
  void expect(const std::string& setting, const T& asked, const T& got) {
    if (!(asked == got)) add(setting, std::to_string(asked), std::to_string(got));
  }
  void add(std::string setting, std::string asked, std::string got) {
    found_.push_back({std::move(setting), std::move(asked), std::move(got)});
  }
  std::vector<Mismatch> found() && { return std::move(found_); }

 private:
  std::vector<Mismatch> found_;
};

/// The kernel's time unit in packet scheduling: PSCHED_SHIFT is 6 since Linux 2.6.38.
inline constexpr double kTickNanoseconds = 64;

/// Returns the transmit time of `bytes` at `rate` bytes/s, in ticks. Saturates at 32 bits.
std::uint32_t transmit_ticks(double bytes, double rate);

/// Returns a rate in bit/s as the kernel keeps it: whole bytes/s.
std::uint64_t bytes_per_second(double bits_per_second);

/// TBF, the token bucket filter.
struct TbfSettings {
  std::uint64_t rate = 0;      ///< bytes/s
  std::uint32_t burst = 0;     ///< token-bucket depth in bytes; larger frames are dropped
  std::uint32_t limit = 0;     ///< queue limit in bytes
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// Returns the request for a TBF. The rate is sent in 64 bits (TCA_TBF_RATE64) and the bucket depth
/// in bytes (TCA_TBF_BURST). The fields that libnl-route 3.7 fills instead are limited to 34 Gbit/s
/// and to whole microseconds. The kernel keeps the depth as transmit time. So the depth that it
/// reports may differ by two ticks (128 ns) and one millionth.
QdiscRequest tbf_request(const TbfSettings& settings);

/// Returns a bfifo, the qdisc of an unthrottled direction. It drops what exceeds `limit` bytes.
QdiscRequest fifo_request(std::uint32_t limit);

/// Returns an HTB with a single default class, 1:1, since HTB does not throttle unclassified
/// packets. Unlike TBF, HTB accepts frames larger than its bucket.
QdiscRequest htb_request();

struct HtbClassSettings {
  std::uint64_t rate = 0;      ///< bytes/s, of rate and ceil
  std::uint32_t burst = 0;     ///< bytes, burst and cburst; HTB's default is about one frame
  std::uint32_t quantum = 0;   ///< bytes per round, 1000 to 200000
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// Returns an HTB class. Rates are sent in 64 bits, bucket depths as ticks of transmit time,
/// rounded up. The kernel reports both exactly.
QdiscRequest htb_class_request(const HtbClassSettings& settings);

}  // namespace thinpipe
