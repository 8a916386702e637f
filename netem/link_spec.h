// A link as users write it: `rate=100mbit,burst=16kb,queue=256kb`, alternatives by `|`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// Both directions of one host's link. Units: bit/s and bytes.
struct LinkSpec {
  double rate = 0;  ///< bit/s, counted on Ethernet frames as TBF does; 0: not throttled, which has
                    ///< no text form
  std::uint32_t burst = 0;  ///< bytes of the token bucket; 0 until with_defaults()
  std::uint32_t queue = 0;  ///< bytes that may wait; 0 until with_defaults()

  /// Canonical text of what the user gave: `rate=100mbit`; `unthrottled` for a default LinkSpec.
  std::string to_string() const;
  /// Fills burst and queue where the user left them to us.
  LinkSpec with_defaults() const;
  bool throttled() const { return rate > 0; }
  bool operator==(const LinkSpec&) const = default;
};

/// Bytes of an Ethernet frame on these links: MTU 1500 and the 14-byte header, as qdiscs count.
inline constexpr int kFrameBytes = 1514;
/// TCP payload of a full frame: 1500 less 20 IP, 20 TCP and 12 of timestamps.
inline constexpr int kPayloadBytes = 1448;

/// The most TCP can deliver on a link of this rate, in bit/s of payload.
inline double tcp_ceiling(double rate) { return rate * kPayloadBytes / kFrameBytes; }

/// A bucket for a rate: 1 ms of it, and never under two frames. What a link saves up while it idles
/// crosses for free afterwards, so the bucket is the time resolution of everything measured on the
/// link; smaller ones cost processor time (a GSO packet of 64 kB is then cut up in software) or,
/// above 1 Gbit/s, rate. Whole microseconds of transmit time, since libnl-route 3.7 cuts off the
/// rest.
std::uint32_t default_burst(double rate);

/// @throws InputError naming the key, what was found and what is allowed.
LinkSpec parse_link_spec(std::string_view text);

/// Expands alternatives: `rate=10mbit|100mbit` gives two links.
std::vector<LinkSpec> expand_link_specs(std::string_view text);

}  // namespace thinpipe
