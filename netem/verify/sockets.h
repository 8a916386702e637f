// Sockets between the hosts of an emulated network, as every measurement needs them. A socket stays
// in the namespace it was made in, so one process can hold both ends.
#pragma once

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

}  // namespace thinpipe
