// Carries out the plan of an all-reduce in segments, all of its steps at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/element_type.h"
#include "workloads/exchange/all_reduce_plan.h"
#include "workloads/exchange/segments.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// A segment is sent as soon as the steps before have been done to it, and added as soon as it has
/// arrived and is next: while one is on its way in a later step, others are in an earlier one.
/// Where a rank sends to several peers at a time, they take turns, a segment each.
class AllReduceFlow {
 public:
  explicit AllReduceFlow(const AllReducePlan& plan);

  /// result becomes factor * sum of own over ranks, the same bits on every rank: sums of elements
  /// of this type, each as add_elements() makes it. Both are of the same size on every rank, and
  /// apart in memory: `own` is read where it lies, so that no pass goes into copying it. Allocates
  /// nothing for arrays no longer than one before.
  void run(Transport& transport, ElementType type, std::span<const std::byte> own,
           std::span<std::byte> result, float factor);

 private:
  // A part in a step.
  struct Piece {
    int part;
    bool adds, completes;
    std::uint16_t receives;  // that must have been done to its segments before
    std::uint16_t sends;     // of its sums so far, that must have left before they change
  };
  struct Cursor {
    std::size_t piece = 0, offset = 0;  // in elements
  };
  // All steps with one peer and tag in one direction. Its segments keep their order.
  struct Channel {
    bool out = false;
    int peer = 0, tag = 0, first_slot = 0;
    int pace = -1;  // the channel that one that goes out keeps pace with
    std::vector<Piece> pieces;
    std::vector<std::byte> staging;  // for what is added

    Cursor starts, ends;                    // next segment to be sent or posted, and to be finished
    std::size_t started = 0, finished = 0;  // segments
    std::size_t bytes_started = 0, bytes_finished = 0;
    bool arrived = false;  // the one at `ends`, which must wait
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
  static bool at_end(const Channel& channel, const Cursor& cursor);
  std::size_t size_at(const Channel& channel, const Cursor& cursor) const;
  void skip_empty(const Channel& channel, Cursor& cursor) const;
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
  std::vector<Place> places_;                                // of each part, and of the end
  std::size_t element_bytes_ = sizeof(float), segment_ = 0;  // of the last call; elements a segment
  // Of each segment: receives done, and sends of sums done.
  std::vector<std::uint16_t> received_, sent_;
};

}  // namespace thinpipe
