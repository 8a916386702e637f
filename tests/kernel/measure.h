// Returns figures that are measured inside a sandbox, so that expectations can run outside of it,
// where GoogleTest is. Also sends trains of datagrams between emulated hosts, and computes how far
// a sample may be off by chance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "netem/network.h"

namespace thinpipe {

/// Runs `body` in a sandbox (netem/sandbox.h) and returns its result, at most a million figures. A
/// measurement that the program does not accept as valid (netem/verify/machine_watch.h) is
/// repeated, three times in all; then the running test is skipped, and ends.
/// @throws RunError with the text of the exception from `body`.
std::vector<double> in_sandbox(const std::function<std::vector<double>()>& body);

/// The same for counts, which a busy machine does not change: measured once, and always valid.
std::vector<double> counts_in_sandbox(const std::function<std::vector<double>()>& body);

/// Leaves a figure in the report of the test that runs: `note("delay", 0.0201, "s")`.
void note(const std::string& name, double value, const std::string& unit);

// A train of numbered datagrams from one emulated host to another: which arrive, when and how.

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
/// have each other's link addresses before it starts.
std::vector<Arrival> send_train(const Network& network, int from, int to,
                                const TrainOptions& options);

/// Sends a train of datagrams in a sandbox of its own, from host 0 to host 1 of a network of two
/// hosts whose links are set to `link`.
std::vector<Arrival> train_over(const std::string& link, const TrainOptions& options);

/// Does the same as train_over(), for tests of which datagrams arrive and not of when. The sender
/// takes in arrivals after every 32 datagrams, so no buffer overflows, however late the machine is.
std::vector<Arrival> fates_over(const std::string& link, const TrainOptions& options);

/// Arrivals as figures, to be handed out of a sandbox, and back.
std::vector<double> to_figures(const std::vector<Arrival>& arrivals);
std::vector<Arrival> to_arrivals(const std::vector<double>& figures);

/// Delays in the order of sending, in s.
std::vector<double> delays_of(std::vector<Arrival> arrivals);

// Spread of a sample, and how far a sample may be off by chance.

/// Tests that allow five standard deviations fail by chance once in 1.7 million.
inline constexpr double kSigmas = 5;

/// Standard deviation.
inline double deviation(const std::vector<double>& values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// Correlation of each value with the one before.
inline double autocorrelation(const std::vector<double>& values) {
  const double middle = mean(values);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) products += (values[i] - middle) * (values[i - 1] - middle);
    squares += (values[i] - middle) * (values[i] - middle);
  }
  return products / squares;
}

/// Returns by how much the number of successes in n trials, each with probability p, may deviate
/// from its mean by chance.
inline double binomial_band(double n, double p) { return kSigmas * std::sqrt(n * p * (1 - p)); }

/// Greatest distance between the values' empirical distribution and `cumulative` (Kolmogorov and
/// Smirnov).
inline double distance(std::vector<double> values,
                       const std::function<double(double)>& cumulative) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = cumulative(values[i]);
    most = std::max({most, expected - static_cast<double>(i) / count,
                     static_cast<double>(i + 1) / count - expected});
  }
  return most;
}

/// Returns a bound on the Kolmogorov-Smirnov distance of a sample. By chance the distance exceeds
/// it as rarely as five standard deviations (Massart 1990: P(D > d) <= 2 exp(-2 n d^2)).
inline double distance_band(double n) { return std::sqrt(std::log(2 / 5.7e-7) / (2 * n)); }

}  // namespace thinpipe
