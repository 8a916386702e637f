// A link as users write it: `rate=100mbit,delay=10ms,loss=0.1%`, a preset (`lte,rate=5mbit`),
// alternatives by `|`. docs/links.md has the grammar and says what is placed where.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// The qdisc that slows a link: token bucket, a hierarchy of one, or netem's own rate (no bucket).
enum class Shaper { kTbf, kHtb, kNetem };

/// Where frames from a host are shaped: at its own interface, where a full queue pushes back on
/// TCP, or where they enter the switch, where it drops them.
enum class Place { kSender, kSwitch };

/// How a frame's delay varies around its mean; kTable is read from a file.
enum class DelayDistribution { kUniform, kNormal, kPareto, kParetoNormal, kTable };

/// Something that happens to some frames. Both in percent; the correlation is with the frame
/// before.
struct Chance {
  double percent = 0;
  double correlation = 0;
  bool operator==(const Chance&) const = default;
};

/// Loss in bursts (Gilbert 1960, Elliott 1963), in percent a frame: two states and what each loses.
struct GilbertElliott {
  double to_bad = 0;         ///< p: good to bad
  double to_good = 100;      ///< r: bad to good
  double lost_in_bad = 100;  ///< 1-h
  double lost_in_good = 0;   ///< 1-k
  bool operator==(const GilbertElliott&) const = default;
  /// Long-run share of lost frames, in percent.
  double mean_loss() const;
};

/// Impairment of frames that have left the shaper. netem does all of it.
struct Impairment {
  std::chrono::nanoseconds delay{0};
  std::chrono::nanoseconds jitter{0};  ///< standard deviation; of kUniform the half-width
  DelayDistribution distribution = DelayDistribution::kUniform;
  std::string table;  ///< file, for kTable
  Chance loss;
  std::optional<GilbertElliott> bursts;  ///< instead of `loss`
  Chance reorder;                        ///< such a frame skips the delay
  std::uint32_t gap = 0;  ///< every gap-th frame may skip it; 0 when nothing is reordered
  Chance duplicate, corrupt;

  bool none() const { return *this == Impairment{}; }
  /// Frames may be lost, doubled, damaged, or overtake each other: TCP will not reach its ceiling.
  bool disturbs() const;
  bool operator==(const Impairment&) const = default;
};

/// One direction of one host's link.
struct Direction {
  double rate = 0;             ///< bit/s, counted on Ethernet frames as qdiscs do; 0: not throttled
  std::uint32_t burst = 0;     ///< bytes of the token bucket; 0 until with_defaults()
  std::uint32_t queue = 0;     ///< bytes that may wait; 0 until with_defaults()
  double queue_bdp = 0;        ///< or multiples of rate times round trip; 0: not given so
  std::uint32_t overhead = 0;  ///< bytes a frame takes on the wire beyond those a qdisc counts
  Shaper shaper = Shaper::kTbf;
  Impairment way;

  bool operator==(const Direction&) const = default;
};

/// One host's link to the switch. A frame between two hosts crosses the sender's `up` and the
/// receiver's `down`; unless `up` is given an impairment of its own, impairments happen once, in
/// `down`.
struct LinkSpec {
  Direction up;    ///< host to switch
  Direction down;  ///< switch to host
  std::uint32_t mtu = 1500;
  Place place = Place::kSender;       ///< of `up`; `down` is shaped at the switch's port
  std::optional<std::uint64_t> seed;  ///< of netem's random numbers; the kernel draws one if absent

  /// Canonical text of what the user gave, such as `rate=100mbit`; parse_link_spec() reads it back.
  /// `unthrottled` for a default LinkSpec.
  std::string to_string() const;
  /// Fills burst and queue where the user left them to us.
  LinkSpec with_defaults() const;

  bool throttled() const { return up.rate > 0 || down.rate > 0; }
  /// bit/s of the slower direction that has a rate: what a path between two such hosts carries.
  double rate() const;
  /// s, between two hosts with this link, one way: up's delay and down's.
  double delay() const;
  double round_trip() const { return 2 * delay(); }  ///< s, between two hosts with this link
  /// bit/s of payload that TCP can deliver at most between two hosts with this link; 0 without a
  /// rate.
  double tcp_ceiling() const;
  std::uint32_t frame_bytes() const;    ///< of a full Ethernet frame, as qdiscs count
  std::uint32_t payload_bytes() const;  ///< TCP payload of a full frame

  // Kernel features that the link needs.
  bool needs_netem() const;
  bool needs_htb() const { return up.shaper == Shaper::kHtb || down.shaper == Shaper::kHtb; }
  bool needs_ifb() const { return place == Place::kSwitch || !up.way.none(); }
  /// Frames must reach the qdiscs one by one, since each is charged or impaired by itself.
  bool needs_single_frames() const;
  bool disturbs() const { return up.way.disturbs() || down.way.disturbs(); }
  bool operator==(const LinkSpec&) const = default;
};

/// The text of a link without a key.
inline constexpr const char* kUnthrottled = "unthrottled";

/// Bounds of a link's settings; schedules and time dilation stay within them.
inline constexpr double kLowestLinkRate = 1e3;     // bit/s: below, one frame takes more than 12 s
inline constexpr double kHighestLinkRate = 100e9;  // bit/s: nothing here would carry more
inline constexpr double kLongestLinkDelay = 100;   // s

/// Ethernet header, which qdiscs count; preamble, check sequence and gap are `overhead`.
inline constexpr int kEthernetHeader = 14;
/// IPv4, TCP and its timestamps.
inline constexpr int kTcpHeaders = 20 + 20 + 12;
/// Bytes of a full Ethernet frame at MTU 1500, as qdiscs count.
inline constexpr int kFrameBytes = 1500 + kEthernetHeader;
/// TCP payload of a full frame at MTU 1500.
inline constexpr int kPayloadBytes = 1500 - kTcpHeaders;

/// The most TCP can deliver at MTU 1500 on a link of this rate, in bit/s of payload.
inline double tcp_ceiling(double rate) { return rate * kPayloadBytes / kFrameBytes; }

/// A bucket for a rate: 1 ms of it, and never under two frames. Tokens saved up while the link
/// idles let bytes cross for free, so the bucket is the time resolution of everything measured on
/// the link; smaller ones cost processor time (a GSO packet of 64 kB is then cut up in software)
/// or, above 1 Gbit/s, rate. Whole microseconds of transmit time.
std::uint32_t default_burst(double rate, int frame_bytes = kFrameBytes);

/// @throws InputError naming the key, what was found and what is allowed.
LinkSpec parse_link_spec(std::string_view text);

/// Expands alternatives: `rate=10mbit|100mbit` gives two links, `lte|wifi` too.
std::vector<LinkSpec> expand_link_specs(std::string_view text);

/// A link of a network that exists. `--link lte` means `--link SPEC`; single keys can be set behind
/// the name: `lte,rate=5mbit`.
struct LinkPreset {
  const char* name;
  const char* spec;    ///< as parse_link_spec() reads it
  const char* what;    ///< what it stands for
  const char* source;  ///< where the figures are from
};

std::span<const LinkPreset> link_presets();

}  // namespace thinpipe
