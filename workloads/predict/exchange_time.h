// Computes the time of an exchange between ranks: of pipelined rings and of sums of sparse vectors
// in closed form; on a star network by simulating the messages, with cached results for named
// collectives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/flow_graph.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {

/// Parameters of a network in the cost models: alpha, beta and the credit of its token buckets. One
/// message takes alpha + bytes * beta (Hockney 1994), less the credit of idle links. The models
/// assume that all ranks are alike. If they differ, the parameters are those of the ranks that
/// determine the time.
struct LinkFigures {
  double alpha = 0;   ///< seconds of an empty message between ranks: link delay and host overhead
  double beta = 0;    ///< seconds per payload byte, with the collective's other messages under way
  double credit = 0;  ///< payload bytes that a link's bucket lets pass for free after idling

  /// Returns the seconds for which a link is busy with `bytes` after it was idle.
  double seconds(double bytes) const { return std::max(0.0, bytes - credit) * beta; }
};

// The next functions model pipelined rings. A simulation of every segment gives the same times
// (tests/predict/exchange_time_test.cc).

/// Bytes of one message of thinpipe's rings (workloads/collectives/segments.h).
inline constexpr double kRingSegment = 32768;

/// Returns the seconds of a dense all-reduce of `bytes` on every rank, in 2(n-1) rounds of bytes/n.
/// Without alpha and credit this is the time 2(p-1)Ns beta/p of Variance-based Gradient
/// Compression, section 5.
double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link);

/// Returns the seconds of an all-gather of messages of equal size: n-1 rounds. `bytes` is the size
/// of one message, with its length field.
double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link);

/// Returns the seconds of an all-gather of messages of unequal sizes (bytes[r] of rank r): the time
/// of the longest path by which the last byte can arrive. A path consists of q hops and one busy
/// link. The busy link carries a window of n-1-q consecutive messages, and each hop takes one
/// segment of that window. Costs O(n^2), or O(n^3) for messages smaller than a segment.
double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link);

// The next functions model sums of sparse vectors. The density of such a sum, its fraction of
// non-zero elements, grows with every summand. The model is that of Deep Gradient Compression (Lin
// et al. 2018), section 5.

/// Returns the fraction of non-zero elements in the sum of `summands` vectors of density `density`
/// that have no positions in common: `summands` times the density, at most 1. In an all-reduce by
/// doubling (log2 n rounds) this is the model's worst case: each round doubles the density.
double worst_density(double density, double summands);

/// Returns the density of the sum of n = `summands` vectors if all vectors' positions are
/// independent: 1 - (1 - density)^n.
double independent_density(double density, double summands);

/// Overlap of the positions of the summed vectors.
enum class Overlapping {
  kNone,         ///< no common positions: the worst case, each round doubles the density
  kIndependent,  ///< positions are random and independent
};

/// Returns the seconds of a sum by recursive doubling without re-selection: in step k of log2 n
/// (rounded up) every rank sends the sum of 2^k vectors.
/// @param bytes    size of one rank's encoded vector; each position takes the same size in a sum
/// @param density  fraction of non-zero elements in one vector, 0 to 1
/// @param dense    bytes of the dense array, the upper bound of every message
double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link);

// The remainder simulates messages.

/// Time and load of an exchange.
struct FlowTime {
  double seconds = 0;  ///< until the last message is complete
  double bytes = 0;    ///< in one direction over the busiest port
  /// Maximum number of bytes that wait at a receiver's port. A real queue drops what exceeds its
  /// length.
  double waiting = 0;
};

/// Simulates an exchange. Every rank has one port for its uplink and one for its downlink, which
/// work at the same time. Each port is a token bucket that was idle before: `credit` bytes pass at
/// once, and further bytes take beta each. The queues of a rank take turns at its port, one message
/// at a time, because a segment reaches the qdisc as one packet. Chunks of several senders queue at
/// a receiver's port in the order in which they left. alpha passes between a message's last byte
/// and its completion.
/// @param ports    one for each rank, or one for all. A message has its sender's alpha
/// @param quantum  minimum bytes of a chunk; messages are cut into equal chunks
/// @throws std::logic_error if messages wait for each other in a cycle
FlowTime flow_time(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum);

/// Computes the times of collectives by flow_time(), which simulates all messages of all ranks. An
/// exchange with more than kMaxFlowMessages messages is replaced by a shorter exchange. Every byte
/// that the shorter exchange lacks at the busiest port then adds beta, because the pipeline is full
/// by then.
class ExchangeTimes {
 public:
  static constexpr double kMaxFlowMessages = 2000;

  /// Returns nothing if the collective has no plan, or if there are so many ranks that even the
  /// shortest exchange has too many messages. @throws InputError as check_collective.
  std::optional<FlowTime> all_reduce(const Spec& collective, std::size_t elements, int ranks,
                                     const LinkFigures& link);
  std::optional<FlowTime> all_gather(const Spec& collective, const std::vector<std::size_t>& sizes,
                                     const LinkFigures& link);
  std::optional<FlowTime> sparse_all_reduce(const Spec& collective, const SparseSizes& sizes,
                                            int ranks, const LinkFigures& link);
  /// Returns whether push_pull() follows the messages of so many units.
  static bool follows(std::size_t units, int workers);
  /// @param servers  0: every worker is a server too
  /// @param links    of the workers, then of the servers; or one for all
  std::optional<FlowTime> push_pull(const std::vector<FlowUnit>& units, int workers, int servers,
                                    const std::vector<LinkFigures>& links);

 private:
  /// A graph, which may be shortened, and the factor by which the whole exchange has more bytes.
  struct Flows {
    FlowGraph graph;
    double longer = 1;
    double quantum = 0;
    std::map<std::vector<double>, FlowTime> times;  ///< by links
  };
  static FlowTime time_of(Flows& flows, std::span<const LinkFigures> links);
  static FlowTime time_of(Flows& flows, const LinkFigures& link) {
    return time_of(flows, std::span(&link, 1));
  }
  Flows& keep(std::string key, Flows flows);

  std::map<std::string, Flows> flows_;
  std::size_t kept_ = 0;  ///< number of messages in flows_
};

}  // namespace thinpipe
