// Queueing disciplines as we set them: options as the kernel reads them, and how to tell from what
// it says afterwards that it took them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
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
  /// What of `options` the kernel's own TCA_OPTIONS says differently, beyond the rounding that each
  /// kind documents. @throws RunError when it cannot be read.
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

}  // namespace thinpipe
