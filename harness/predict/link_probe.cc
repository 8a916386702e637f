#include "harness/predict/link_probe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/launch/launch.h"
#include "workloads/predict/ring_time.h"

namespace thinpipe {

namespace {

constexpr double kProbeSeconds = 0.05;  // of the links' time
constexpr double kCredits = 4;          // as often as what the buckets have saved up crosses
constexpr double kLeastMessage = 4096, kMostMessage = 32e6;  // bytes
constexpr double kProbePatience = 60;                        // s beside what links take

enum class Which { kShortest, kLongest };

// Of each exchange one rank's time, in order: the shortest, of the rank that came last to it, or
// the longest, from when the first one began.
std::vector<double> of_ranks(const std::vector<std::vector<double>>& times, Which which) {
  std::vector<double> found;
  for (std::size_t i = 0; i < times.at(0).size(); ++i) {
    double one = times[0][i];
    for (const std::vector<double>& rank : times)
      one = which == Which::kShortest ? std::min(one, rank.at(i)) : std::max(one, rank.at(i));
    found.push_back(one);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The beta with which the model takes so long: it takes longer the greater beta is.
double beta_for(double seconds, int ranks, double bytes, LinkFigures link) {
  double low = link.beta / 100, high = link.beta * 100;
  for (int i = 0; i < 60; ++i) {
    link.beta = std::sqrt(low * high);
    (ring_all_gather_time(ranks, bytes, link) < seconds ? low : high) = link.beta;
  }
  return std::sqrt(low * high);
}

}  // namespace

std::size_t probe_bytes(const LinkFigures& expected, int ranks) {
  const double all = kCredits * expected.credit +
                     (expected.beta > 0 ? kProbeSeconds / expected.beta : kMostMessage);
  return static_cast<std::size_t>(
      std::clamp(all / std::max(1, ranks - 1), kLeastMessage, kMostMessage));
}

MachineFigures machine_figures(const std::vector<std::vector<double>>& small,
                               const std::vector<std::vector<double>>& large, std::size_t bytes,
                               const LinkFigures& expected) {
  const int ranks = static_cast<int>(small.size());
  MachineFigures machine;
  if (ranks < 2) return machine;
  LinkFigures link = expected;
  const std::vector<double> messages = of_ranks(small, Which::kShortest);
  // Whatever else ran on the machine made them longer, never shorter.
  link.alpha = messages.at(messages.size() / 4) / (2 * (ranks - 1));
  machine.message_time = std::max(0.0, link.alpha - expected.alpha);
  if (expected.beta > 0)
    machine.slower =
        beta_for(of_ranks(large, Which::kLongest).at(0), ranks, static_cast<double>(bytes), link) /
        expected.beta;
  return machine;
}

MachineFigures probe_links(Launch& launch, const LinkFigures& expected) {
  const std::size_t bytes = probe_bytes(expected, launch.ranks());
  const double patience =
      kProbePatience +
      100 * launch.ranks() * (expected.alpha + static_cast<double>(bytes) * expected.beta);
  // The buckets fill up at the links' rate.
  const double pause = 2e-3 + 1.5 * expected.credit * expected.beta;
  std::vector<std::vector<double>> small, large;
  for (const nlohmann::json& answer :
       launch.ask({{"do", "probe"}, {"bytes", bytes}, {"pause", pause}}, patience)) {
    small.push_back(answer.at("small"));
    large.push_back(answer.at("large"));
  }
  return machine_figures(small, large, bytes, expected);
}

}  // namespace thinpipe
