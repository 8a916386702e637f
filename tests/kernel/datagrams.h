// A train of numbered datagrams from one emulated host to another: what arrives, when and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netem/network.h"

namespace thinpipe {

struct TrainOptions {
  int count = 100;
  double spacing = 1e-3;  ///< s from one to the next; 0: as fast as they can be sent
  int bytes = 64;         ///< of UDP payload, at least 16; a frame has 42 more (14 + 20 + 8)
  double linger = 0.15;   ///< s without an arrival after which the rest counts as lost
  bool checksum = true;   ///< UDP's; without it, damaged datagrams arrive instead of being dropped
};

/// One datagram that arrived. Both times are by the same clock, in seconds.
struct Arrival {
  std::uint32_t number = 0;  ///< from 0, in the order of sending
  double sent = 0;           ///< before the call that sent it
  double arrived = 0;        ///< when the receiving host's kernel had it
  bool intact = false;       ///< every byte is as it was sent; else the rest may mean nothing
  double delay() const { return arrived - sent; }
};

/// Sends a train over the network's data links and returns the arrivals in their order. Both hosts
/// know each other's link addresses before it starts.
std::vector<Arrival> send_train(const Network& network, int from, int to,
                                const TrainOptions& options);

/// A train in a sandbox of its own, from host 0 to host 1 of a network of two whose links are set
/// to `link`.
std::vector<Arrival> train_over(const std::string& link, const TrainOptions& options);

/// The same for who asks what became of the datagrams, and not when. The sender takes in what has
/// arrived after every 32, so however late the machine is, no buffer overflows.
std::vector<Arrival> fates_over(const std::string& link, const TrainOptions& options);

/// For use inside a sandbox: sets the network's links from text.
void set_links(Network& network, const std::string& link);

/// Arrivals as figures, to be handed out of a sandbox, and back.
std::vector<double> to_figures(const std::vector<Arrival>& arrivals);
std::vector<Arrival> to_arrivals(const std::vector<double>& figures);

/// Delays in the order of sending, in s.
std::vector<double> delays_of(std::vector<Arrival> arrivals);

}  // namespace thinpipe
