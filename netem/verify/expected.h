// One-way figures that two hosts must see when both have a link. docs/fidelity.md derives each.
#pragma once

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Bytes of the frame of an acknowledgement without data: Ethernet, IPv4, TCP and its timestamps.
inline constexpr int kAckFrame = kEthernetHeader + kTcpHeaders;
/// Bytes of a frame beyond the payload of its datagram: Ethernet, IPv4, UDP.
inline constexpr int kDatagramHeaders = kEthernetHeader + 20 + 8;

/// bit/s of payload that TCP delivers at most while so many acknowledgements a second of what comes
/// the other way share the link: LinkSpec::tcp_ceiling() when there are none. 0 without a rate.
double ceiling_beside_acks(const LinkSpec& link, double acks_per_second);

/// s that a datagram of so many payload bytes takes at most to cross, one way, beyond the link's
/// delay: none where buckets have credit.
double transmission_time(const LinkSpec& link, int datagram);

/// Queueing when datagrams come at `overload` times the slower direction's rate.
struct QueueWait {
  double seconds = 0;  ///< the longest wait, of all queues that fill: bytes / rate
  double filling = 0;  ///< s until they have filled, when a queue's worth is sent at once first
};
QueueWait queue_wait(const LinkSpec& link, double overload);

/// Bytes beyond rate times time that a link which idled lets through, counted on frames of
/// `frame` bytes: that of the slower direction or, where both are as fast, the lesser, since two
/// token buckets in a row let through the lesser of what either does.
double burst_credit(const LinkSpec& link, double frame);

/// True if a switch drops forward traffic that does not fit, where TCP learns of it late and backs
/// off, rather than the sender holding it back.
bool drops_at_switch(const LinkSpec& link);

/// Share of datagrams of so many payload bytes that do not arrive, 0 to 1; damaged ones do not.
double expected_loss(const LinkSpec& link, int datagram);
/// How much wider than the binomial distribution's the variance of the number lost is, because
/// losses come in company (Gilbert and Elliott's two states; correlated chances). At least 1.
double loss_clustering(const LinkSpec& link);

}  // namespace thinpipe
