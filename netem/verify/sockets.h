// Sockets between the hosts of an emulated network, and numbered datagrams, for all measurements. A
// socket stays in the network namespace of its creation, so one process can have both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "netem/file_descriptor.h"
#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

/// The connected sockets of one flow.
struct SocketPair {
  FileDescriptor sender, receiver;
};

/// Makes calls on the socket fail with EAGAIN after so many seconds.
void limit_wait(const FileDescriptor& socket, double seconds);

/// Returns a TCP connection. Both ends wait at most `timeout` s. The congestion control is CUBIC if
/// the kernel has it, whatever the namespace's default is.
/// @param send_buffer  bytes; 0: the kernel tunes the buffer
/// @throws SystemError naming the addresses.
SocketPair stream_pair(const Network& network, const Flow& flow, int send_buffer, double timeout);

/// Returns the number of pure ACKs that this end of a connection has sent.
double acks_sent(const FileDescriptor& connection);

/// Returns the fraction of a sender's segments that were retransmitted spuriously, because ACKs
/// were late rather than segments lost. The receiver reports such segments as duplicates (D-SACK).
double repeated_share(const FileDescriptor& sender);

/// Returns two connected UDP sockets. Either may send. Both wait at most `timeout` s.
SocketPair datagram_pair(const Network& network, const Flow& flow, double timeout);

/// Returns CLOCK_REALTIME in s, the clock of the kernel's timestamps.
inline double wall_clock() { return now_seconds(CLOCK_REALTIME); }

/// Sends datagrams of equal size, numbered from 0, in batches. A batch is one GSO packet
/// (UDP_SEGMENT, Linux 4.18), which qdiscs handle as one packet.
class NumberedSender {
 public:
  /// @param datagram  bytes of payload each, at least 8
  /// @param at_once   datagrams per batch
  NumberedSender(const FileDescriptor& socket, int datagram, int at_once);
  /// Sends the next batch. If the socket's buffer is full, waits until the socket's timeout with
  /// `wait`, and does not wait without it. Returns false if the buffer was still full.
  bool send_batch(bool wait);
  /// Numbers the following datagrams from `next` on.
  void count_from(std::uint64_t next) { next_ = next; }
  std::uint64_t next() const { return next_; }

 private:
  const FileDescriptor& socket_;
  std::size_t datagram_;
  std::vector<char> block_;
  std::uint64_t next_ = 0;
};

/// A numbered datagram and its arrival time in the receiving kernel.
struct NumberedArrival {
  std::uint64_t number = 0;
  double time = 0;  ///< wall_clock()
};

/// Receives the datagrams of a NumberedSender.
class NumberedReceiver {
 public:
  /// Enables timestamps and UDP_GRO, and requests a large receive buffer.
  NumberedReceiver(const FileDescriptor& socket, int datagram);
  /// Appends all arrived datagrams, in order of arrival.
  void take(std::vector<NumberedArrival>& arrivals);
  /// Waits for a datagram, for at most `seconds` s.
  void wait(double seconds) const;

 private:
  const FileDescriptor& socket_;
  std::size_t datagram_;
  std::vector<char> block_;
};

/// Returns the number of packets that full sockets of this host have dropped since its creation
/// (RcvbufErrors); a GSO packet of several datagrams counts as one. The links did deliver these
/// packets.
std::uint64_t receive_buffer_drops(const Network& network, int host);

}  // namespace thinpipe
