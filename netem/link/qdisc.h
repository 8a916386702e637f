// Queueing disciplines as we set them: options as the kernel reads them, and how to tell from its
// answer that it took them. TBF, HTB and a byte queue; netem is in qdisc_netem.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

/// A setting that the kernel keeps otherwise than asked.
struct Mismatch {
  std::string setting;  ///< such as "tbf rate (TCA_TBF_RATE64)"
  std::string asked, got;
};

/// A qdisc or a class to be made or changed. `options` is the content of TCA_OPTIONS.
struct QdiscRequest {
  std::string kind;
  std::vector<std::byte> options;
  /// Returns where the kernel's own TCA_OPTIONS differs from `options`, beyond the rounding that
  /// each kind documents. @throws RunError when it cannot be read.
  std::function<std::vector<Mismatch>(std::span<const std::byte>)> mismatches;
};

/// One pair of asked and got, remembered when they differ.
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

/// The kernel's unit for times in packet scheduling: PSCHED_SHIFT is 6 since Linux 2.6.38.
inline constexpr double kTickNanoseconds = 64;

/// Ticks that `bytes` take at `rate` bytes/s, at most what 32 bits hold.
std::uint32_t transmit_ticks(double bytes, double rate);

/// bit/s as the kernel keeps it: whole bytes/s.
std::uint64_t bytes_per_second(double bits_per_second);

/// TBF, the token bucket filter.
struct TbfSettings {
  std::uint64_t rate = 0;      ///< bytes/s
  std::uint32_t burst = 0;     ///< bytes: a frame that is larger is dropped
  std::uint32_t limit = 0;     ///< bytes that may wait
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// Rates beyond 32 bits go in TCA_TBF_RATE64, the bucket in bytes in TCA_TBF_BURST: the fields that
/// libnl-route 3.7 fills hold 34 Gbit/s and whole microseconds. The kernel keeps the bucket as
/// transmit time, which comes back within two ticks (128 ns) and one millionth.
QdiscRequest tbf_request(const TbfSettings& settings);

/// bfifo, which stands where nothing is throttled: first in, first out, and dropped beyond `limit`
/// bytes.
QdiscRequest fifo_request(std::uint32_t limit);

/// HTB with a single class, 1:1, to which everything goes: what HTB does not classify it does not
/// throttle. Other than for TBF, no frame is too large for it.
QdiscRequest htb_request();

struct HtbClassSettings {
  std::uint64_t rate = 0;      ///< bytes/s, and the ceiling likewise
  std::uint32_t burst = 0;     ///< bytes, of rate and ceiling; HTB's default is about one frame
  std::uint32_t quantum = 0;   ///< bytes a turn, 1000 to 200000
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// The class's rates go in 64 bits; its buckets in ticks of transmit time, rounded up, which come
/// back as they are.
QdiscRequest htb_class_request(const HtbClassSettings& settings);

}  // namespace thinpipe
