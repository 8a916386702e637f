#include "workloads/collectives/ring_probe.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

constexpr int kInFlight = kSegmentsInFlight;
constexpr int kTag = 0;
constexpr std::byte kSettling{0}, kCounted{1}, kLast{2};
using Segments = std::vector<std::vector<std::byte>>;

void wait(Transport& transport, Transport::Request slot) {
  while (!transport.done(slot)) transport.pause();
  transport.progressed();
}

// Messages arrive in order, so slots are used in turn. The sender marks the messages that count, by
// its own clock. The receiver's clock would not do, since a receiver that was suspended finds many
// messages at once. The sender also marks its last kInFlight messages as the last: one for each
// receive that the other rank has posted.
void send_stream(Transport& transport, int peer, const StreamOptions& options) {
  Segments segments(kInFlight, std::vector<std::byte>(kSegmentBytes));
  const double begin = now_seconds();
  for (int slot = 0, counted = 0, last = 0; last < kInFlight; slot = (slot + 1) % kInFlight) {
    wait(transport, slot);
    const double now = now_seconds() - begin;
    std::byte kind = kSettling;
    if (now > options.settle + options.seconds && counted >= kInFlight) {
      kind = kLast;
      ++last;
    } else if (now > options.settle) {
      kind = kCounted;
      ++counted;
    }
    auto& segment = segments[static_cast<std::size_t>(slot)];
    segment[0] = kind;
    transport.send(slot, peer, kTag, segment);
  }
  for (int slot = 0; slot < kInFlight; ++slot) wait(transport, slot);
}

double receive_stream(Transport& transport, int peer) {
  Segments segments(kInFlight, std::vector<std::byte>(kSegmentBytes));
  for (int slot = 0; slot < kInFlight; ++slot)
    transport.receive(slot, peer, kTag, segments[static_cast<std::size_t>(slot)]);
  double counted_from = 0, counted_to = 0, bytes = 0;
  bool any = false;
  for (int slot = 0, last = 0; last < kInFlight; slot = (slot + 1) % kInFlight) {
    const auto& segment = segments[static_cast<std::size_t>(slot)];
    wait(transport, slot);
    if (segment[0] == kLast) {
      ++last;
      continue;
    }
    if (segment[0] == kCounted) {
      counted_to = now_seconds();
      if (any) bytes += static_cast<double>(segment.size());
      if (!any) counted_from = counted_to;  // messages after this one count
      any = true;
    }
    transport.receive(slot, peer, kTag, segments[static_cast<std::size_t>(slot)]);
  }
  const double seconds = counted_to - counted_from;
  return seconds > 0 ? bytes * 8 / seconds : 0;
}

// Returns the turn in which a rank sends. In a turn, no sender receives.
int turn_of(int sender, int size) { return size % 2 == 1 && sender == size - 1 ? 2 : sender % 2; }

}  // namespace

RingProbe probe_ring(Transport& transport, const RingProbeOptions& options) {
  RingProbe probe;
  const std::vector<std::byte> message(std::max<std::size_t>(options.bytes, 1));
  const int ranks = transport.size();
  AllGatherFlow gather(ring_all_gather(ranks, transport.rank()), transport, message.size());
  constexpr double kApart = 1e-3;  // s between the first rank to begin and the last
  AllReduceFlow reduce(ring_all_reduce(ranks, transport.rank()));
  const std::vector<float> own(static_cast<std::size_t>(ranks), 1.0F);
  std::vector<float> sum(own.size());
  const auto all_reduce = [&] {
    reduce.run(transport, ElementType::kFloat32, std::as_bytes(std::span(own)),
               std::as_writable_bytes(std::span(sum)), 1);
  };
  const auto pause = [&](double late) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.pause + late));
  };
  const auto small = [&](double late) {
    pause(late);
    const double begin = transport.now();
    all_reduce();
    return transport.now() - begin;
  };
  const auto large = [&] {
    pause(0);
    all_reduce();  // so that all ranks begin together
    const double begin = transport.now();
    gather.run(transport, message);
    return transport.now() - begin;
  };
  // Untimed rounds, which use connections and memory for the first time.
  small(0);
  large();
  for (int i = 0; i < options.small_rounds; ++i) {
    const int turn = (transport.rank() + i) % ranks;
    probe.small.push_back(small(kApart * turn / ranks));
  }
  for (int i = 0; i < options.large_rounds; ++i) probe.large.push_back(large());
  return probe;
}

double stream_round_ring(Transport& transport, const StreamOptions& options) {
  const int size = transport.size(), rank = transport.rank();
  if (size < 2) return 0;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  double goodput = 0;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn_of(rank, size) == turn) send_stream(transport, next, options);
    if (turn_of(previous, size) == turn) goodput = receive_stream(transport, previous);
  }
  return goodput;
}

}  // namespace thinpipe
