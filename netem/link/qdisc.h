// Requests for the qdiscs TBF, HTB, bfifo and netem: the options to send, and the comparison with
// the options that the kernel reports back. Also has netem's distribution tables of delays, and the
// effect of netem's correlations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "netem/link/link_spec.h"

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

/// Returns the transmit time of `bytes` at `rate` bytes/s, in ticks of 64 ns, rounded up. Saturates
/// at 32 bits.
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
/// in bytes (TCA_TBF_BURST); libnl-route 3.7 uses older fields, which are limited to 34 Gbit/s and
/// to whole microseconds. The kernel keeps the depth as the depth's transmit time. The reported
/// transmit time may differ from the requested one by two ticks (128 ns) plus one millionth.
QdiscRequest tbf_request(const TbfSettings& settings);

/// Returns the request for a bfifo, the qdisc of an unthrottled direction. The bfifo drops a frame
/// if the queue with it would exceed `limit` bytes.
QdiscRequest fifo_request(std::uint32_t limit);

/// Returns the request for an HTB with a single default class, 1:1, since HTB does not throttle
/// unclassified packets. Unlike TBF, HTB accepts frames larger than its bucket.
QdiscRequest htb_request();

struct HtbClassSettings {
  std::uint64_t rate = 0;      ///< bytes/s, of rate and ceil
  std::uint32_t burst = 0;     ///< bytes, burst and cburst; HTB's default is about one frame
  std::uint32_t quantum = 0;   ///< bytes per round, 1000 to 200000
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// Returns the request for an HTB class. Rates are sent in 64 bits, bucket depths as ticks of
/// transmit time, rounded up. The kernel reports both exactly.
QdiscRequest htb_class_request(const HtbClassSettings& settings);

// netem: delay, loss and the other impairments, and a rate without a bucket.

/// The unit of a distribution table: 8192 is one standard deviation (jitter).
inline constexpr int kDistributionScale = 8192;
/// Most entries of a table (the kernel's NETEM_DIST_MAX).
inline constexpr std::size_t kDistributionMost = 16384;

/// Returns a table of 4096 delays of equal probability. kUniform ranges from -1 to 1 jitter, as
/// netem draws delays without a table. The other distributions have mean 0 and standard deviation 1
/// jitter, and are cut at 4 jitter (the range of 16 bits). They are normal, Pareto with shape 3,
/// and tc's paretonormal, which combines a quarter normal and three quarters Pareto. tc's own
/// pareto.dist and paretonormal.dist have standard deviations of 0.82 and 0.83 jitter; table:FILE
/// selects these files.
std::vector<std::int16_t> distribution_table(DelayDistribution distribution);

/// Reads a table in the format of tc's .dist files: whole numbers separated by blanks, comments
/// from # on. @throws InputError naming file and line.
std::vector<std::int16_t> read_distribution(const std::filesystem::path& file);

/// Returns the table of the impairment's distribution; for kTable, reads it from the file.
/// @throws InputError as read_distribution.
std::vector<std::int16_t> table_of(const Impairment& impairment);

/// Returns the threshold at or below which a fraction `probability` of netem's random draws lies.
/// Request this threshold from netem as the probability, so that a fraction `probability` of the
/// frames is affected. The draws, the threshold and the correlation are all from 0 to 1. Returns a
/// probability of 0 or 1 unchanged.
///
/// netem's draws are correlated: x = (1 - c) u + c x'. c is the correlation, u is uniform on 0 to
/// 1, and x' is the previous draw (get_crandom in net/sched/sch_netem.c). The draws have mean 1/2
/// but concentrate around it. So less than a fraction t of the draws is at or below a threshold t
/// under 1/2. With c = 25 %, a requested loss of 1 % loses only 0.00024 % of the frames.
/// @throws InputError for a correlation of 1, with which the first draw decides all others.
double correlated_threshold(double probability, double correlation);

struct NetemSettings {
  Impairment impairment;
  std::uint64_t rate = 0;             ///< bytes/s; 0: none
  std::uint32_t overhead = 0;         ///< bytes charged for every packet beyond its length
  std::uint32_t limit = 1000;         ///< most packets in the qdisc, delayed and queued
  std::vector<std::int16_t> table;    ///< delay distribution; used only with jitter
  std::optional<std::uint64_t> seed;  ///< not supported before Linux 6.6
};

/// Returns the request for a netem. The request has every attribute, including zeros, because the
/// kernel keeps the old value of an attribute that a change omits. The table is sent only with
/// jitter, without which it has no effect. Probabilities are sent as 32-bit fractions of 100 %, or,
/// with a correlation, as the threshold that yields the probability. Times are in nanoseconds. The
/// kernel reports probabilities and times exactly, but does not report tables.
QdiscRequest netem_request(const NetemSettings& settings);

/// Returns a percentage in netem's unit: 2^32-1 is 100 %.
std::uint32_t netem_share(double percent);

/// Returns the probability to request, in netem's unit, so that netem affects the fraction of
/// frames that `chance` has: correlated_threshold(). Without a correlation, it is this fraction.
/// @throws InputError as correlated_threshold.
std::uint32_t netem_share(const Chance& chance);

}  // namespace thinpipe
