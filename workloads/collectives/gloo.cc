// The collective `gloo`: the messages of a PyTorch job over gloo, in gloo's order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/streams.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

// The longest segment in bytes: kMaxSegmentSize in gloo/allreduce.h.
constexpr std::size_t kGlooMaxSegment = std::size_t{1024} * 1024;
// Rounds of a ring under way at a time. gloo adds one segment while the next segment arrives.
constexpr std::size_t kGlooUnderWay = 2;
constexpr int kGlooTag = 0;

enum class GlooPhase { kReduceScatter, kAllGather };

/// An array as gloo's ring all-reduce cuts it (ring() in gloo/allreduce.cc).
///
/// The array has n chunks, one for each rank. All chunks have the same number of segments, two or
/// more. All segments have the same length, except at the end of the array: one segment may be
/// shorter, and the segments after it are empty and send nothing. The slices of Parts, by contrast,
/// differ by one element at most.
struct GlooSegments {
  GlooSegments(const SummedArray& array, std::size_t all_ranks)
      : elements(array.elements), element_bytes(size_of(array.type)), ranks(all_ranks) {
    const std::size_t most = kGlooMaxSegment / element_bytes;
    const std::size_t least = std::max((elements + most - 1) / most, 2 * ranks);
    of_chunk = (least + ranks - 1) / ranks;
    length = (elements + count() - 1) / count();
  }

  std::size_t count() const { return of_chunk * ranks; }
  std::size_t begin(std::size_t segment) const { return std::min(segment * length, elements); }
  std::size_t size(std::size_t segment) const { return begin(segment + 1) - begin(segment); }
  std::size_t bytes(std::size_t segment) const { return size(segment) * element_bytes; }

  /// Returns the number of rounds of a phase. In each round, a rank sends one segment and receives
  /// one.
  std::size_t rounds() const { return (ranks - 1) * of_chunk; }
  /// Returns the segment that a rank sends in a round, to the rank before it. A rank begins the
  /// reduce-scatter with the chunk after its own, and the all-gather with its own chunk.
  std::size_t sent(GlooPhase phase, std::size_t rank, std::size_t round) const {
    const std::size_t first = rank + (phase == GlooPhase::kReduceScatter ? 1 : 0);
    return (first * of_chunk + round) % count();
  }
  /// Returns the segment that a rank receives in a round, from the rank after it.
  std::size_t received(GlooPhase phase, std::size_t rank, std::size_t round) const {
    return sent(phase, rank + 1, round);
  }

  /// Returns the volume of a rank's chunk; the rank wraps round.
  Volume chunk(std::size_t rank) const {
    const std::size_t first = rank % ranks * of_chunk;
    return volume(first, first + of_chunk);
  }
  Volume all() const { return volume(0, count()); }

  std::size_t elements, element_bytes, ranks;
  std::size_t of_chunk = 0;  // segments
  std::size_t length = 0;    // elements of a segment

 private:
  // Returns the volume of segments [first, last).
  Volume volume(std::size_t first, std::size_t last) const {
    const std::size_t inside = begin(last) - begin(first);
    if (inside == 0) return {};
    return plain_message(length * element_bytes) * (inside / length) +
           plain_message(inside % length * element_bytes);
  }
};

/// Runs the rounds of a ring in gloo's order: finish(i - 2) waits for the end of round i - 2, then
/// start(i) begins round i. So two rounds are under way.
template <class Start, class Finish>
void run_gloo_rounds(std::size_t rounds, Start start, Finish finish) {
  for (std::size_t round = 0; round < rounds + kGlooUnderWay; ++round) {
    if (round >= kGlooUnderWay) finish(round - kGlooUnderWay);
    if (round < rounds) start(round);
  }
}

/// The messages of the rounds that are under way, to one neighbour and from the other. Each message
/// is cut into segments of kSegmentBytes, which leave together.
class GlooRing {
 public:
  GlooRing(Transport& transport, std::size_t to, std::size_t from)
      : transport_(transport), to_(static_cast<int>(to)), from_(static_cast<int>(from)) {}

  /// Begins to send and to receive. Both ranges stay untouched until the round has been waited for.
  void start(std::size_t round, std::span<const std::byte> out, std::span<std::byte> in) {
    out_[round % kGlooUnderWay] = out.size();
    in_[round % kGlooUnderWay] = in.size();
    for (std::size_t at = 0; at < in.size(); at += kSegmentBytes)
      transport_.receive(slot(round, true, at), from_, kGlooTag,
                         in.subspan(at, std::min(kSegmentBytes, in.size() - at)));
    for (std::size_t at = 0; at < out.size(); at += kSegmentBytes)
      transport_.send(slot(round, false, at), to_, kGlooTag,
                      out.subspan(at, std::min(kSegmentBytes, out.size() - at)));
  }
  void wait_received(std::size_t round) { wait(round, true, in_[round % kGlooUnderWay]); }
  void wait_sent(std::size_t round) { wait(round, false, out_[round % kGlooUnderWay]); }

 private:
  Transport::Request slot(std::size_t round, bool in, std::size_t at) const {
    const std::size_t message = 2 * (round % kGlooUnderWay) + (in ? 1 : 0);
    return static_cast<int>(message * (kGlooMaxSegment / kSegmentBytes) + at / kSegmentBytes);
  }
  void wait(std::size_t round, bool in, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kSegmentBytes) {
      while (!transport_.done(slot(round, in, at))) transport_.pause();
      transport_.progressed();
    }
  }

  Transport& transport_;
  int to_, from_;
  std::size_t out_[kGlooUnderWay] = {}, in_[kGlooUnderWay] = {};  // bytes
};

/// Returns the bytes of half a row of lengths. The row of one rank has a 64-bit length for each
/// rank, and gloo's all-gather sends it in two halves.
constexpr std::size_t half_gloo_row(std::size_t ranks) { return ranks * sizeof(std::uint64_t) / 2; }

/// Implements the default all-reduce of gloo, and the exchange of payloads of thinpipe.torch.
///
/// **All-reduce.** A segment's sum goes round the ring in the direction of descending ranks, and
/// each rank adds its own values. It begins at the rank before the chunk's owner and is complete at
/// the owner. Then the owners' chunks go round the ring once. A segment is passed on when all of it
/// has arrived and the segment two rounds before has been sent. The second phase begins when the
/// first phase has ended on this rank. A rank therefore waits for a latency between the phases,
/// where `ring` sends without a pause.
///
/// **All-gather.** The ranks all-gather the lengths of their messages round a ring in the direction
/// of ascending ranks, half a row at a time. Then every rank sends its message to every other rank,
/// first to the next rank, all at the same time.
class Gloo : public Collective, public AllReduce, public AllGather {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  Gloo(std::unique_ptr<Transport> transport, std::size_t capacity)
      : transport_(std::move(transport)),
        ranks_(static_cast<std::size_t>(transport_->size())),
        rank_(static_cast<std::size_t>(transport_->rank())),
        next_((rank_ + 1) % ranks_),
        previous_((rank_ + ranks_ - 1) % ranks_),
        capacity_(capacity),
        streams_(std::max<std::size_t>(1, ranks_ - 1)),
        begins_(ranks_ + 1),
        messages_(ranks_) {}

  using AllReduce::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    if (ranks_ == 1) return scale_elements(type, own, factor, result);
    const GlooSegments segments({own.size() / size_of(type), type}, ranks_);
    const std::size_t longest = segments.length * size_of(type);
    if (staging_.size() < kGlooUnderWay * longest) staging_.resize(kGlooUnderWay * longest);
    const std::span<const std::byte> sums = result;
    const auto range = [&](auto array, std::size_t segment) {
      return array.subspan(segments.begin(segment) * size_of(type), segments.bytes(segment));
    };
    const auto staged = [&](std::size_t round, std::size_t segment) {
      return std::span(staging_).subspan(round % kGlooUnderWay * longest, segments.bytes(segment));
    };
    GlooRing ring(*transport_, previous_, next_);

    const auto begin_sum = [&](std::size_t round) {
      const std::size_t out = segments.sent(GlooPhase::kReduceScatter, rank_, round);
      const std::size_t in = segments.received(GlooPhase::kReduceScatter, rank_, round);
      // Nothing has been added to the first chunk.
      ring.start(round, range(round < segments.of_chunk ? own : sums, out), staged(round, in));
    };
    const auto add = [&](std::size_t round) {
      const std::size_t in = segments.received(GlooPhase::kReduceScatter, rank_, round);
      ring.wait_received(round);
      // The rank's own chunk comes last.
      const bool completes = round + segments.of_chunk >= segments.rounds();
      if (segments.size(in) > 0)
        add_elements(type, range(own, in), staged(round, in), completes ? factor : 1.0F,
                     range(result, in));
      ring.wait_sent(round);
    };
    run_gloo_rounds(segments.rounds(), begin_sum, add);

    const auto begin_gather = [&](std::size_t round) {
      ring.start(round, range(sums, segments.sent(GlooPhase::kAllGather, rank_, round)),
                 range(result, segments.received(GlooPhase::kAllGather, rank_, round)));
    };
    const auto wait = [&](std::size_t round) {
      ring.wait_received(round);
      ring.wait_sent(round);
    };
    run_gloo_rounds(segments.rounds(), begin_gather, wait);
  }

  void expected_all_reduce(ElementType type, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    if (type == ElementType::kFloat32) return sum_over_ranks(arrays, factor, out);
    const std::size_t n = arrays.size();
    const GlooSegments segments({out.size(), type}, n);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t owner = i / (segments.length * segments.of_chunk);
      float sum = arrays[(owner + n - 1) % n][i];
      if (n == 1) sum = rounded(sum * factor, type);
      for (std::size_t hop = 2; hop <= n; ++hop)
        sum = rounded((arrays[(owner + n - hop) % n][i] + sum) * (hop == n ? factor : 1.0F), type);
      out[i] = sum;
    }
  }

  /// @throws InputError for a message over the capacity
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    if (own.size() > capacity_) throw InputError("all-gather: a message longer than the capacity");
    gather_lengths(own.size());
    for (std::size_t from = 0; from < ranks_; ++from)
      begins_[from + 1] = begins_[from] + length_from(from);
    if (arena_.size() < begins_[ranks_]) arena_.resize(begins_[ranks_]);
    const auto place = [&](std::size_t from) {
      return std::span(arena_).subspan(begins_[from], length_from(from));
    };
    std::copy(own.begin(), own.end(), place(rank_).begin());
    for (std::size_t distance = 1; distance < ranks_; ++distance) {
      const std::size_t to = (rank_ + distance) % ranks_;
      const std::size_t from = (rank_ + ranks_ - distance) % ranks_;
      streams_.send(static_cast<int>(to), own);
      streams_.receive(static_cast<int>(from), place(from));
    }
    streams_.run(*transport_);
    for (std::size_t from = 0; from < ranks_; ++from) messages_[from] = place(from);
    return messages_;
  }

  TransportCounters counters() const override { return transport_->counters(); }

 private:
  // Returns the length of a rank's message to this rank.
  std::size_t length_from(std::size_t rank) const { return rows_[rank * ranks_ + rank_]; }

  // All-gathers the rows of lengths, as gloo/allgather.cc does.
  void gather_lengths(std::size_t own) {
    rows_.assign(ranks_ * ranks_, own);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(rows_));
    const std::size_t half = half_gloo_row(ranks_);
    const auto half_of = [&](std::size_t row, std::size_t round) {
      return bytes.subspan((2 * (row % ranks_) + round % 2) * half, half);
    };
    GlooRing ring(*transport_, next_, previous_);
    const auto start = [&](std::size_t round) {
      const std::size_t row = rank_ + ranks_ - round / 2;
      ring.start(round, half_of(row, round), half_of(row - 1, round));
    };
    const auto finish = [&](std::size_t round) {
      ring.wait_sent(round);
      ring.wait_received(round);
    };
    run_gloo_rounds(2 * (ranks_ - 1), start, finish);
    for (std::size_t from = 0; from < ranks_; ++from)
      if (const std::size_t length = length_from(from); length > capacity_)
        throw InputError(fmt::format(
            "all-gather: rank {} announced a message of impossible length {}", from, length));
  }

  std::unique_ptr<Transport> transport_;
  std::size_t ranks_, rank_, next_, previous_;
  std::size_t capacity_;
  std::vector<std::byte> staging_;  // for two segments that are added
  Streams streams_;
  std::vector<std::uint64_t> rows_;  // row of rank r: lengths of its messages, by receiver
  std::vector<std::size_t> begins_;  // of messages in the arena, and the end
  std::vector<std::byte> arena_;     // messages, by rank
  std::vector<std::span<const std::byte>> messages_;
};

// A rank does not send its own chunk in the reduce-scatter, nor the chunk before it in the
// all-gather.
Traffic gloo_reduce_traffic(const Parameters&, const SummedArray& array, int ranks, int rank) {
  if (ranks == 1) return {};
  const auto n = static_cast<std::size_t>(ranks), own = static_cast<std::size_t>(rank);
  const GlooSegments segments(array, n);
  const Volume twice = segments.all() * 2;
  return {.sent = twice - segments.chunk(own) - segments.chunk(own + n - 1),
          .received = twice - segments.chunk(own + 1) - segments.chunk(own)};
}

Traffic gloo_gather_traffic(const Parameters&, const MessageVolume& messages, int rank) {
  const auto n = static_cast<std::size_t>(messages.ranks());
  const Volume lengths = plain_message(half_gloo_row(n)) * (2 * (n - 1));
  Traffic traffic{.sent = lengths + plain_message(messages.content(rank)) * (n - 1),
                  .received = lengths};
  for (int distance = 1; distance < messages.ranks(); ++distance)
    traffic.received += plain_message(messages.content(rank + distance));
  return traffic;
}

// Messages arrive from one rank and in order. So the number of messages that have arrived tells
// which rounds have ended.
FlowGraph gloo_reduce_flows(const Parameters&, std::size_t elements, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const GlooSegments segments(elements, n);
  FlowGraph graph{.ranks = ranks, .places = 1};
  for (std::size_t rank = 0; rank < n; ++rank) {
    FlowQueue& queue = graph.queues.emplace_back();
    queue.from = static_cast<int>(rank);
    const auto to = static_cast<std::uint32_t>((rank + n - 1) % n);
    std::uint32_t arrived = 0;
    for (const GlooPhase phase : {GlooPhase::kReduceScatter, GlooPhase::kAllGather}) {
      const auto send = [&](std::size_t round) {
        const std::size_t bytes = segments.bytes(segments.sent(phase, rank, round));
        for (std::size_t at = 0; at < bytes; at += kSegmentBytes) {
          const auto size = static_cast<double>(std::min(kSegmentBytes, bytes - at));
          queue.messages.push_back({.to = to, .bytes = size, .after = arrived});
        }
      };
      const auto wait = [&](std::size_t round) {
        const std::size_t bytes = segments.bytes(segments.received(phase, rank, round));
        arrived += static_cast<std::uint32_t>(segments_of_bytes(bytes));
      };
      run_gloo_rounds(segments.rounds(), send, wait);
    }
  }
  return graph;
}

FlowGraph gloo_gather_flows(const Parameters&, std::span<const std::size_t> sizes) {
  const int n = static_cast<int>(sizes.size());
  PhaseFlows flows(n, PhaseFlows::Order::kTurns);
  for (int step = 1; step < n; ++step) {
    flows.begin_phase();
    for (int rank = 0; rank < n; ++rank)
      for (int half = 0; half < 2; ++half)
        flows.send(rank, (rank + 1) % n, half_gloo_row(sizes.size()));
  }
  flows.begin_phase();
  for (int distance = 1; distance < n; ++distance)
    for (int rank = 0; rank < n; ++rank)
      flows.send(rank, (rank + distance) % n, sizes[static_cast<std::size_t>(rank)]);
  return flows.take();
}

int gloo_reduce_steps(const Parameters&, int ranks) { return 2 * (ranks - 1); }
// Two phases of n - 1 chunks of two segments, on every rank.
double gloo_messages(const Parameters&, int ranks) { return 4.0 * ranks * (ranks - 1); }
// Lengths go round the ring in n - 1 steps, and messages take one step.
int gloo_gather_steps(const Parameters&, int ranks) { return ranks == 1 ? 0 : ranks; }

const CollectiveRegistration kGloo{
    {.name = "gloo",
     .summary = "as PyTorch over gloo: a ring of segments of up to 1 MiB, two at a time; payloads "
                "straight to every rank",
     .source = "pytorch/gloo, allreduce.cc (5f206e5) and allgather.cc (19f1d3a)",
     .reduce = ReduceForm{.traffic = gloo_reduce_traffic,
                          .steps = gloo_reduce_steps,
                          .messages = gloo_messages,
                          .flows = gloo_reduce_flows},
     .gather = GatherForm{.traffic = gloo_gather_traffic,
                          .steps = gloo_gather_steps,
                          .flows = gloo_gather_flows},
     .make = [](const Parameters&, std::unique_ptr<Transport> transport,
                std::size_t capacity) -> std::unique_ptr<Collective> {
       return std::make_unique<Gloo>(std::move(transport), capacity);
     }}};

}  // namespace
}  // namespace thinpipe
