// Expected figures between two hosts that both have a given link. docs/fidelity.md derives each.
#pragma once

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Bytes of a pure ACK's frame: Ethernet, IPv4, TCP and its timestamps.
inline constexpr int kAckFrame = kEthernetHeader + kTcpHeaders;
/// Bytes of a frame beyond its datagram's payload: Ethernet, IPv4, UDP.
inline constexpr int kDatagramHeaders = kEthernetHeader + 20 + 8;

/// Returns the TCP ceiling in bit/s of payload while `acks_per_second` pure ACKs of reverse traffic
/// use the link too. Equals LinkSpec::tcp_ceiling() for 0. 0 without a rate.
double ceiling_beside_acks(const LinkSpec& link, double acks_per_second);

/// Returns the longest one-way transmission time in s of a datagram of so many payload bytes,
/// without the link's delay. The time is shorter while buckets have tokens.
double transmission_time(const LinkSpec& link, int datagram);

/// Queueing when datagrams arrive at `overload` times the slower direction's rate.
struct QueueWait {
  double seconds = 0;  ///< bufferbloat delay: bytes / rate of all queues that fill
  double filling = 0;  ///< s until the queues are full, after a burst of their size
};
QueueWait queue_wait(const LinkSpec& link, double overload);

/// Returns the token-bucket depth of a link: the bytes beyond rate times time that pass after
/// idling, in frames of `frame` bytes. The slower direction's bucket counts. With equal rates the
/// smaller one does, since two token buckets in series pass the smaller of both bursts.
double bucket_depth(const LinkSpec& link, double frame);

/// Returns true if excess forward traffic is dropped at a switch, so that TCP backs off late,
/// rather than by backpressure at the sender.
bool drops_at_switch(const LinkSpec& link);

/// Returns the fraction of datagrams of so many payload bytes that do not arrive, 0 to 1. Corrupted
/// datagrams do not arrive.
double expected_loss(const LinkSpec& link, int datagram);
/// Returns the variance of the number of lost datagrams over the binomial distribution's variance.
/// The ratio exceeds 1 when losses are correlated (Gilbert and Elliott's two states; correlated
/// chances). At least 1.
double loss_clustering(const LinkSpec& link);

}  // namespace thinpipe
