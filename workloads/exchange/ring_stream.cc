#include "workloads/exchange/ring_stream.h"

#include <chrono>
#include <vector>

#include "workloads/exchange/segments.h"

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInFlight = kSegmentsInFlight;
constexpr int kTag = 0;
constexpr std::byte kSettling{0}, kCounted{1}, kLast{2};
using Segments = std::vector<std::vector<std::byte>>;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

void wait(Transport& transport, Transport::Request slot) {
  while (!transport.done(slot)) transport.pause();
  transport.progressed();
}

// Messages keep their order, so slots come round in turn. The sender says which of them count, by
// its own clock: a receiver that did not run for a while finds them all there at once. The last
// kInFlight messages say that they are: one for each receive that the other rank has posted.
void send_stream(Transport& transport, int peer, const StreamOptions& options) {
  Segments segments(kInFlight, std::vector<std::byte>(kSegmentBytes));
  const auto begin = Clock::now();
  for (int slot = 0, counted = 0, last = 0; last < kInFlight; slot = (slot + 1) % kInFlight) {
    wait(transport, slot);
    const double now = seconds_between(begin, Clock::now());
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
  Clock::time_point counted_from, counted_to;
  double bytes = 0;
  bool any = false;
  for (int slot = 0, last = 0; last < kInFlight; slot = (slot + 1) % kInFlight) {
    const auto& segment = segments[static_cast<std::size_t>(slot)];
    wait(transport, slot);
    if (segment[0] == kLast) {
      ++last;
      continue;
    }
    if (segment[0] == kCounted) {
      counted_to = Clock::now();
      if (any) bytes += static_cast<double>(segment.size());
      if (!any) counted_from = counted_to;  // what comes after this one counts
      any = true;
    }
    transport.receive(slot, peer, kTag, segments[static_cast<std::size_t>(slot)]);
  }
  const double seconds = seconds_between(counted_from, counted_to);
  return seconds > 0 ? bytes * 8 / seconds : 0;
}

// The turn in which a rank sends. Nobody then sends to one who sends.
int turn_of(int sender, int size) { return size % 2 == 1 && sender == size - 1 ? 2 : sender % 2; }

}  // namespace

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
