// A link spec as users write it: `rate=100mbit,delay=10ms,loss=0.1%`, a preset (`lte,rate=5mbit`),
// alternatives separated by `|`. docs/links.md describes the grammar and the placement of qdiscs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// The qdisc that limits a link's rate: TBF, HTB with one class, or netem's own rate (no bucket).
enum class Shaper { kTbf, kHtb, kNetem };

/// Where a host's uplink is shaped. kSender: on egress of the host's interface, where a full queue
/// pushes back on TCP. kSwitch: on ingress of the switch, where a full queue drops frames.
enum class Place { kSender, kSwitch };

/// Distribution of frames' delays around their mean. kTable is read from a file.
enum class DelayDistribution { kUniform, kNormal, kPareto, kParetoNormal, kTable };

/// Probability that netem affects a frame, and the correlation of netem's draw for the frame with
/// the draw for the frame before (netem/link/qdisc.h). Both in percent.
struct Chance {
  double percent = 0;
  double correlation = 0;
  bool operator==(const Chance&) const = default;
};

/// Loss in bursts (Gilbert 1960, Elliott 1963): a chain of two states, each with its own loss rate.
/// All values in percent per frame.
struct GilbertElliott {
  double to_bad = 0;         ///< p: good to bad
  double to_good = 100;      ///< r: bad to good
  double lost_in_bad = 100;  ///< 1-h
  double lost_in_good = 0;   ///< 1-k
  bool operator==(const GilbertElliott&) const = default;
  /// Returns the long-run fraction of lost frames, in percent.
  double mean_loss() const;
};

/// Impairments of the frames of one direction. netem applies all of them.
struct Impairment {
  std::chrono::nanoseconds delay{0};
  std::chrono::nanoseconds jitter{0};  ///< standard deviation; for kUniform the half-width
  DelayDistribution distribution = DelayDistribution::kUniform;
  std::string table;  ///< file, for kTable
  Chance loss;
  std::optional<GilbertElliott> bursts;  ///< replaces `loss`
  Chance reorder;                        ///< a reordered frame skips the delay
  std::uint32_t gap = 0;  ///< every gap-th frame may skip the delay; 0 without reordering
  Chance duplicate, corrupt;

  bool none() const { return *this == Impairment{}; }
  /// Returns the long-run fraction of lost frames, in percent.
  double mean_loss() const { return bursts ? bursts->mean_loss() : loss.percent; }
  /// Returns true if frames may be lost, duplicated, corrupted, reordered or delayed unevenly, so
  /// that TCP does not reach its ceiling.
  bool disturbs() const;
  bool operator==(const Impairment&) const = default;
};

/// One direction of a link.
struct Direction {
  double rate = 0;             ///< bit/s of Ethernet frames, as qdiscs count; 0: not throttled
  std::uint32_t burst = 0;     ///< token-bucket depth in bytes; 0 until with_defaults()
  std::uint32_t queue = 0;     ///< queue limit in bytes; 0 until with_defaults()
  double queue_bdp = 0;        ///< queue limit in multiples of rate times RTT; 0: not given
  std::uint32_t overhead = 0;  ///< bytes of a frame on the wire beyond those that a qdisc counts
  Shaper shaper = Shaper::kTbf;
  Impairment impairment;

  bool operator==(const Direction&) const = default;
};

/// One host's link to the switch. A frame between two hosts crosses the sender's uplink (`up`) and
/// the receiver's downlink (`down`). Impairments apply once, on the downlink, unless `up` has
/// impairments of its own.
struct LinkSpec {
  Direction up;    ///< host to switch
  Direction down;  ///< switch to host
  std::uint32_t mtu = 1500;
  Place place = Place::kSender;       ///< of the uplink's shaper; the downlink's is at the switch
  std::optional<std::uint64_t> seed;  ///< of netem's random numbers; absent: the kernel draws one
  /// True for a link between switches, as as_trunk() returns it: a path crosses it once.
  bool trunk = false;

  /// Returns the canonical text of what the user gave, such as `rate=100mbit`, or `unthrottled` for
  /// a default LinkSpec. parse_link_spec() reads the text back.
  std::string to_string() const;
  /// Returns the link with default burst and queue where the user gave none.
  LinkSpec with_defaults() const;

  bool throttled() const { return up.rate > 0 || down.rate > 0; }
  /// Returns the rate of the slower throttled direction in bit/s; 0 if neither is throttled. A path
  /// between two hosts with this link has this rate.
  double rate() const;
  /// Returns the one-way delay between two hosts with this link, in s: the uplink's plus the
  /// downlink's. For a trunk, which a path crosses once, returns the mean of both directions.
  double delay() const;
  double round_trip() const { return 2 * delay(); }  ///< RTT between two hosts with this link, s
  /// Returns the highest TCP goodput between two hosts with this link, in bit/s of payload, while
  /// `acks_per_second` pure ACKs of reverse traffic use the link too; 0 without a rate.
  double tcp_ceiling(double acks_per_second = 0) const;
  std::uint32_t frame_bytes() const;    ///< bytes of a full Ethernet frame, as qdiscs count
  std::uint32_t payload_bytes() const;  ///< bytes of TCP payload in a full frame

  // Kernel features that the link needs.
  bool needs_netem() const;
  bool needs_htb() const { return up.shaper == Shaper::kHtb || down.shaper == Shaper::kHtb; }
  bool needs_ifb() const { return place == Place::kSwitch || !up.impairment.none(); }
  /// Returns true if frames must reach the qdiscs one by one (no GSO), since each frame is charged
  /// or impaired separately.
  bool needs_single_frames() const;
  bool disturbs() const { return up.impairment.disturbs() || down.impairment.disturbs(); }
  bool operator==(const LinkSpec&) const = default;
};

/// The text of a link without any key.
inline constexpr const char* kUnthrottled = "unthrottled";

/// Bounds of a link's settings. Schedules and time dilation stay within these bounds.
inline constexpr double kLowestLinkRate = 1e3;     // bit/s: below, one frame takes more than 12 s
inline constexpr double kHighestLinkRate = 100e9;  // bit/s: beyond any emulated path
inline constexpr double kLongestLinkDelay = 100;   // s
inline constexpr double kLongestLinkJitter = 2;    // s: netem keeps 31 bits of nanoseconds

/// Bytes of the Ethernet header, which qdiscs count. They count preamble, check sequence and gap
/// only as Direction::overhead.
inline constexpr int kEthernetHeader = 14;
/// Bytes of the IPv4 header, the TCP header and TCP's timestamps.
inline constexpr int kTcpHeaders = 20 + 20 + 12;
/// Bytes of a pure ACK's frame: Ethernet, IPv4, TCP and its timestamps.
inline constexpr int kAckFrame = kEthernetHeader + kTcpHeaders;
/// Bytes of a full Ethernet frame at MTU 1500, as qdiscs count.
inline constexpr int kFrameBytes = 1500 + kEthernetHeader;
/// TCP payload of a full frame at MTU 1500.
inline constexpr int kPayloadBytes = 1500 - kTcpHeaders;

/// Returns the highest TCP goodput at MTU 1500 on a link of this rate, in bit/s of payload.
inline double tcp_ceiling(double rate) { return rate * kPayloadBytes / kFrameBytes; }

/// Returns the default token-bucket depth for a rate, in bytes. It is 1 ms of data at the rate, but
/// at least two frames, rounded up to a whole number of microseconds of transmit time. After the
/// link has been idle, a full bucket of bytes passes unthrottled, so no measurement on the link
/// resolves times shorter than the bucket's transmit time. Smaller buckets cost CPU time, because
/// 64 kB GSO packets are then segmented in software. Above 1 Gbit/s, they also lower the rate.
std::uint32_t default_burst(double rate, int frame_bytes = kFrameBytes);

/// Parses a link spec. @throws InputError naming the key, what was found and what is allowed.
LinkSpec parse_link_spec(std::string_view text);

/// Expands alternatives: `rate=10mbit|100mbit` gives two links, as does `lte|wifi`.
/// @throws InputError as parse_link_spec, and for more than kMaxAlternatives links (base/text.h).
std::vector<LinkSpec> expand_link_specs(std::string_view text);

/// A named link, modelled on a real network: `--link lte` means `--link` with the preset's spec.
/// Keys after the name override single settings: `lte,rate=5mbit`.
struct LinkPreset {
  const char* name;
  const char* spec;    ///< for parse_link_spec()
  const char* what;    ///< short description
  const char* source;  ///< source of the figures
};

std::span<const LinkPreset> link_presets();

}  // namespace thinpipe
