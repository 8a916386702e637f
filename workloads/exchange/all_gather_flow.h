// Carries messages of all ranks to all ranks, each cut into segments that are passed on at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/send_window.h"
#include "workloads/exchange/staged_gather.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Whole messages, named by the rank they are of, that one after the other go to a peer or come
/// from one. Between two ranks channels of one direction have different tags.
struct GatherChannel {
  bool out = false;
  int peer = 0;
  std::vector<int> messages = {};
  int tag = 0;
};

/// Every other rank's message comes in once; what goes out is the own one or came in.
using AllGatherPlan = std::vector<GatherChannel>;

/// No sizes are exchanged beforehand: the first segment of a message starts with its length, so
/// small messages cost one trip and no more. Where a rank sends to several peers at a time, they
/// take turns, a segment each.
class AllGatherFlow {
 public:
  /// @param capacity  the longest message any rank may send, in bytes
  AllGatherFlow(const AllGatherPlan& plan, int ranks, std::size_t capacity);

  /// @returns messages by rank, valid until the next run. Allocates nothing after the first.
  /// @throws InputError when a rank announces a message over the capacity.
  const std::vector<std::span<const std::byte>>& run(Transport& transport,
                                                     std::span<const std::byte> own);
  const std::vector<std::span<const std::byte>>& run(Transport& transport, StagedGather& staged);

 private:
  struct Inlet {
    GatherChannel channel;
    int first_slot;
    std::vector<std::byte> staging = {};
    std::size_t message = 0;  // place in the channel of the one that arrives
    // Segments. Every message has at least one; more become certain when a head arrives.
    std::size_t certain = 0, posted = 0, arrived = 0;
  };
  struct Outlet {
    GatherChannel channel;
    int first_slot;
    std::size_t message = 0, offset = 0;
  };

  std::span<std::byte> framed(std::size_t rank) {
    return std::span(arena_).subspan(rank * stride_, stride_);
  }
  bool stage(StagedGather& staged, std::size_t rank);
  bool receive(Transport& transport, Inlet& in, StagedGather& staged);
  void take(Inlet& in, std::span<const std::byte> segment, StagedGather& staged);
  bool send_one(Outlet& out, SendWindow& window);

  std::size_t capacity_, stride_;
  std::vector<std::byte> arena_;  // a framed message for each rank
  std::vector<Inlet> inlets_;
  std::vector<Outlet> outlets_;
  std::vector<SendWindow> windows_;  // of the outlets
  std::vector<std::size_t> total_;   // framed bytes of a message; 0 until its head arrived
  std::vector<std::size_t> here_;    // of those, bytes that are here
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace thinpipe
