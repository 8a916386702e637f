#include "netem/verify/queue_flood.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "netem/verify/expected.h"

namespace thinpipe {

namespace {

constexpr double kTurnSeconds = 5e-4;  // between two looks at what has drained
constexpr int kMostAtOnce = 40;        // datagrams of a packet: 64 kB at MTU 1500
constexpr double kSocketBytes = 60e3;  // of frames, that every socket may have on its way
constexpr std::size_t kMostSockets = 400;

// Pieces small against the queue, so that it is full to the last one, and frames where netem or
// `overhead` looks at each.
int at_once(const LinkSpec& link, double bytes_per_second, double queue) {
  if (link.needs_single_frames()) return 1;
  const double frame = link.frame_bytes();
  const double most = std::min({queue / 16 / frame, bytes_per_second * kTurnSeconds / frame,
                                65000.0 / frame, static_cast<double>(kMostAtOnce)});
  return std::max(1, static_cast<int>(most));
}

}  // namespace

QueueFlood::QueueFlood(const Network& network, const LinkSpec& link, const Flow& flow,
                       double overload)
    : bytes_per_second_(overload * link.rate() / 8) {
  const LinkSpec filled = link.with_defaults();
  const double queue = std::max(filled.up.queue, filled.down.queue);
  first_bytes_ = filled.up.queue + filled.down.queue + filled.up.burst + filled.down.burst;
  const int together = at_once(link, bytes_per_second_, queue);
  const int datagram = static_cast<int>(link.mtu) + kEthernetHeader - kDatagramHeaders;
  piece_bytes_ = together * static_cast<double>(link.frame_bytes());
  const auto sockets = static_cast<std::size_t>(std::ceil(first_bytes_ / kSocketBytes)) + 1;
  pairs_.resize(std::min(sockets, kMostSockets));
  const int no_room = 1;  // nobody reads: what arrives is dropped at the socket
  for (SocketPair& pair : pairs_) {
    pair = datagram_pair(network, flow, 1);
    setsockopt(pair.receiver.get(), SOL_SOCKET, SO_RCVBUF, &no_room, sizeof(no_room));
  }
  for (const SocketPair& pair : pairs_) senders_.emplace_back(pair.sender, datagram, together);
  thread_ = std::thread([this] { run(); });
}

QueueFlood::~QueueFlood() {
  done_ = true;
  thread_.join();
}

bool QueueFlood::send_piece() {
  for (std::size_t tried = 0; tried < senders_.size(); ++tried) {
    turn_ = (turn_ + 1) % senders_.size();
    if (senders_[turn_].send_piece(false)) return true;
  }
  return false;
}

void QueueFlood::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
  const auto begin = std::chrono::steady_clock::now();
  double due = first_bytes_;
  double sent = 0;
  while (!done_) {
    // What does not go out for want of room is not made up for.
    while (sent < due && send_piece()) sent += piece_bytes_;
    sent = std::max(sent, due);
    std::this_thread::sleep_for(std::chrono::duration<double>(kTurnSeconds));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    due = first_bytes_ + passed.count() * bytes_per_second_;
  }
}

}  // namespace thinpipe
