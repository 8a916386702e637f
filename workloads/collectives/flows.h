// Execution of plans over a transport, in segments; FlowCollective makes a collective of two plans.
// The sums of arrays on one rank: a step of an all-reduce, and the expected result of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compressors/element_type.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/segments.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Computes sums = (a + b) * scale. 16-bit elements are added and multiplied in 32 bits and rounded
/// once, and every NaN becomes the same NaN. All arrays have the same size in bytes and the
/// elements' alignment. `sums` does not overlap `b`, and is `a` or does not overlap it.
void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums);

/// Computes out = a * scale, rounded likewise.
void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out);

/// Computes the expected result of a plan's all-reduce, on one rank.
/// out = factor * the sum of the arrays, by rank, added in the order of the plan and rounded to the
/// elements' type after every addition. 16-bit elements are given and returned as floats. Only NaN
/// values may differ from the result of AllReduceFlow.
void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out);

/// Carries out the plan of an all-reduce, all of its steps at a time (all_reduce_flow.cc).
///
/// A rank sends a segment as soon as the earlier steps on this segment are done. It adds a received
/// segment as soon as the additions before it in the plan are done. Some segments may therefore be
/// in a later step while other segments are still in an earlier step. If a rank sends to several
/// peers at a time, it sends one segment to each peer in turn.
class AllReduceFlow {
 public:
  explicit AllReduceFlow(const AllReducePlan& plan);

  /// Sets `result` to factor * the sum of `own` over all ranks, with the same bits on every rank.
  /// Elements of `type` are added by add_elements(). Both arrays have the same size on every rank.
  /// They must not overlap, because `own` is read in place, without a copy. Allocates nothing if
  /// the array is not longer than in an earlier call.
  void run(Transport& transport, ElementType type, std::span<const std::byte> own,
           std::span<std::byte> result, float factor);

 private:
  // A slice in a step.
  struct Piece {
    int part;
    bool adds, completes;
    std::uint16_t receives;  // of its segments, which must have ended before
    std::uint16_t sends;     // of its sums so far, which must have ended before the sums change
  };
  struct Cursor {
    std::size_t piece = 0, offset = 0;  // in elements
  };
  // All steps with one peer and tag in one direction. Its segments keep their order.
  struct Channel {
    bool out = false;
    int peer = 0, tag = 0, first_slot = 0;
    int pace = -1;  // of an outgoing channel: the incoming channel with which it keeps pace
    std::vector<Piece> pieces;
    // For segments that are added; not initialised, so only received pages take memory.
    std::unique_ptr<std::byte[]> staging;

    Cursor starts, ends;                    // next segment to be sent or posted, and to be finished
    std::size_t started = 0, finished = 0;  // segments
    std::size_t bytes_started = 0, bytes_finished = 0;
    bool arrived = false;  // the segment at `ends`, which must wait
  };
  struct Segment {
    std::size_t begin, size;  // in bytes
    std::size_t number;
  };
  struct Call {
    Transport& transport;
    ElementType type;
    std::span<const std::byte> own;
    std::span<std::byte> result;
    float factor;
  };

  Channel& channel(bool out, const AllReduceStep& step);
  void reset(const Parts& parts);
  static bool at_end(const Channel& channel, const Cursor& cursor) {
    return cursor.piece == channel.pieces.size();
  }
  // Returns the length of the slice, in elements.
  std::size_t size_at(const Channel& channel, const Cursor& cursor) const {
    const auto part = static_cast<std::size_t>(channel.pieces[cursor.piece].part);
    return places_[part + 1].begin - places_[part].begin;
  }
  // Skips empty slices, which send nothing: there are some with fewer elements than slices.
  void skip_empty(const Channel& channel, Cursor& cursor) const {
    while (!at_end(channel, cursor) && size_at(channel, cursor) == 0) ++cursor.piece;
  }
  void advance(const Channel& channel, Cursor& cursor) const;
  Segment segment_at(const Channel& channel, const Cursor& cursor) const;
  bool receive(const Call& call, Channel& in);
  void apply(const Call& call, Channel& in);
  bool finish_sends(const Call& call, Channel& out);
  bool send_one(const Call& call, Channel& out);

  bool mirrored_;
  std::vector<Channel> channels_;
  struct Place {
    std::size_t begin, first_segment;
  };
  std::vector<Place> places_;                                // of each slice, and of the end
  std::size_t element_bytes_ = sizeof(float), segment_ = 0;  // of the last call; elements a segment
  // By segment: receives done, and sends of sums done.
  std::vector<std::uint16_t> received_, sent_;
};

/// Carries messages of all ranks to all ranks, by the plan of an all-gather (all_gather_flow.cc).
///
/// Ranks do not exchange the sizes of messages beforehand. The first segment of a message starts
/// with the message's length, so that a small message takes a single trip. If a rank sends to
/// several peers at a time, it sends one segment to each peer in turn.
class AllGatherFlow {
 public:
  /// @param capacity  the longest message any rank may send, in bytes
  AllGatherFlow(const AllGatherPlan& plan, const Transport& transport, std::size_t capacity);

  /// Sends this rank's message to all ranks and receives theirs. Allocates nothing after the first
  /// run.
  /// @returns messages by rank, valid until the next run @throws InputError when a rank announces a
  /// message over the capacity
  const std::vector<std::span<const std::byte>>& run(Transport& transport,
                                                     std::span<const std::byte> own);
  const std::vector<std::span<const std::byte>>& run(Transport& transport, StagedGather& staged);

 private:
  struct Inlet {
    GatherChannel channel;
    ReceiveWindow window;     // every message has at least one segment, which announces all others
    std::size_t message = 0;  // index in the channel of the arriving message
  };
  struct Outlet {
    GatherChannel channel;
    int first_slot;
    std::size_t message = 0, offset = 0;
  };

  std::span<std::byte> framed(std::size_t rank) { return {arena_.get() + rank * stride_, stride_}; }
  bool stage(StagedGather& staged, std::size_t rank);
  void take(Inlet& in, std::span<const std::byte> segment, StagedGather& staged);
  bool send_one(Outlet& out, SendWindow& window);

  std::size_t capacity_, stride_;
  MessageMemory arena_;  // a framed message for each rank
  std::vector<Inlet> inlets_;
  std::vector<Outlet> outlets_;
  std::vector<SendWindow> windows_;  // of the outlets
  std::vector<std::size_t> total_;   // framed bytes of a message; 0 until its head has arrived
  std::vector<std::size_t> here_;    // framed bytes of a message that have arrived
  std::vector<std::span<const std::byte>> messages_;
};

/// A collective of one plan, an all-reduce.
class FlowAllReduce : public Collective, public AllReduce {
 public:
  FlowAllReduce(std::unique_ptr<Transport> transport, const AllReducePlanner& reduce)
      : transport_(std::move(transport)),
        reduce_plan_(reduce),
        reduce_(reduce(transport_->size(), transport_->rank())) {}

  using AllReduce::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    reduce_.run(*transport_, type, own, result, factor);
  }
  void expected_all_reduce(ElementType type, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    if (type == ElementType::kFloat32)
      sum_over_ranks(arrays, factor, out);
    else
      sum_by_plan(reduce_plan_, type, arrays, factor, out);
  }
  TransportCounters counters() const override { return transport_->counters(); }

 protected:
  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<Transport> transport_;
  AllReducePlanner reduce_plan_;
  AllReduceFlow reduce_;
};

/// A collective of two plans: an all-reduce and an all-gather.
class FlowCollective : public FlowAllReduce, public AllGather {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  FlowCollective(std::unique_ptr<Transport> transport, const AllReducePlanner& reduce,
                 const AllGatherPlanner& gather, std::size_t capacity)
      : FlowAllReduce(std::move(transport), reduce),
        gather_(gather(this->transport().size(), this->transport().rank()), this->transport(),
                capacity) {}

  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    return gather_.run(transport(), own);
  }
  const std::vector<std::span<const std::byte>>& gather_staged(StagedGather& staged) override {
    return gather_.run(transport(), staged);
  }

 private:
  AllGatherFlow gather_;
};

/// The collective `ring`: both pipelined rings over one transport.
class RingCollective : public FlowCollective {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  RingCollective(std::unique_ptr<Transport> transport, std::size_t capacity)
      : FlowCollective(std::move(transport), ring_all_reduce, ring_all_gather, capacity) {}
};

}  // namespace thinpipe
