// Expected figures between two hosts that both have a given link. docs/fidelity.md derives each.
#pragma once

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Bytes of a frame beyond its datagram's payload: Ethernet, IPv4, UDP.
inline constexpr int kDatagramHeaders = kEthernetHeader + 20 + 8;

/// Returns the longest one-way transmission time in s of a datagram with `datagram` bytes of
/// payload, without the link's delay. The time is shorter while buckets have tokens.
double transmission_time(const LinkSpec& link, int datagram);

/// Queueing when datagrams arrive at `overload` times the slower direction's rate.
struct QueueWait {
  double seconds = 0;  ///< bufferbloat delay: bytes / rate of all queues that fill
  double filling = 0;  ///< s until the queues are full, after a burst of their size
};
QueueWait queue_wait(const LinkSpec& link, double overload);

/// Returns the token-bucket depth of a link: the bytes beyond rate times time that pass after
/// idling, in frames of `frame` bytes. The bucket of the slower direction determines the depth. If
/// both rates are equal, the smaller bucket does, since two token buckets in series pass the
/// smaller of both bursts.
double bucket_depth(const LinkSpec& link, double frame);

/// Returns true if a switch drops excess forward traffic. TCP then backs off later than it does by
/// backpressure at the sender.
bool drops_at_switch(const LinkSpec& link);

/// Returns the expected fraction of UDP datagrams with `datagram` bytes of payload that do not
/// arrive, 0 to 1. netem flips one bit of a corrupted frame. The receiver drops the frame, unless
/// the bit is in the source's hardware address, which nothing checks.
double expected_loss(const LinkSpec& link, int datagram);
/// Returns the variance of the number of lost datagrams, divided by its variance if losses were
/// independent (the binomial distribution's). The ratio exceeds 1 when losses are correlated
/// (Gilbert and Elliott's two states; correlated chances). It is at least 1.
double loss_clustering(const LinkSpec& link);

}  // namespace thinpipe
