// Sockets between the hosts of an emulated network, and datagrams that carry their number, as every
// measurement needs them. A socket stays in the namespace it was made in, so one process can hold
// both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

/// The ends of one flow, connected to each other.
struct SocketPair {
  FileDescriptor sender, receiver;
};

/// Calls on the socket fail with EAGAIN after so many seconds.
void limit_wait(const FileDescriptor& socket, double seconds);

/// A connection whose sender asks for a buffer of so many bytes; 0: the kernel tunes it. It is
/// cubic where the kernel has that, whatever the namespace's default is. Both ends wait at most
/// `patience` s.
/// @throws SystemError naming the addresses.
SocketPair stream_pair(const Network& network, const Flow& flow, int send_buffer, double patience);

/// Segments without data, acknowledgements alone, that the end of a connection has sent.
double acks_sent(const FileDescriptor& connection);

/// Share of a sender's segments that it sent again although the receiver had them, as duplicates
/// that the receiver reports (D-SACK) tell: acknowledgements came late, nothing was lost.
double repeated_share(const FileDescriptor& sender);

/// Two UDP sockets; either may send. Likewise.
SocketPair datagram_pair(const Network& network, const Flow& flow, double patience);

/// CLOCK_REALTIME in s, the clock of the kernel's timestamps.
double wall_clock();

/// Sends datagrams of one size, numbered from 0. Several go to the kernel as one packet
/// (UDP_SEGMENT, Linux 4.18), which qdiscs see as one piece.
class NumberedSender {
 public:
  /// @param datagram  bytes of payload each, at least 8
  NumberedSender(const FileDescriptor& socket, int datagram, int at_once);
  /// The next `at_once`. False when there was no room (`wait` is false, or patience ran out).
  bool send_piece(bool wait);
  /// All pieces after this carry numbers from `next` on.
  void count_from(std::uint64_t next) { next_ = next; }
  std::uint64_t next() const { return next_; }

 private:
  const FileDescriptor& socket_;
  std::size_t datagram_;
  std::vector<char> block_;
  std::uint64_t next_ = 0;
};

/// A numbered datagram, and when the receiving kernel had it.
struct NumberedArrival {
  std::uint64_t number = 0;
  double time = 0;  ///< wall_clock()
};

/// Receives what a NumberedSender sent.
class NumberedReceiver {
 public:
  /// Asks for timestamps, large packets (UDP_GRO) and as much room as the kernel grants.
  NumberedReceiver(const FileDescriptor& socket, int datagram);
  /// Adds all that has arrived, in order of arrival.
  void take(std::vector<NumberedArrival>& arrivals);
  /// Waits until something has, for so many seconds at most.
  void wait(double seconds) const;

 private:
  const FileDescriptor& socket_;
  std::size_t datagram_;
  std::vector<char> block_;
};

/// Datagrams that arrived at this host and found no room in a socket, since it was made: these the
/// links did deliver.
std::uint64_t datagrams_without_room(const Network& network, int host);

}  // namespace thinpipe
