#include "workloads/exchange/ring_stream.h"

#include <chrono>
#include <vector>

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;

// As the rings have them: under Open MPI's eager limit of 64 KiB, enough to fill the link.
constexpr std::size_t kSegmentBytes = 32768;
constexpr int kInFlight = 16;
constexpr std::byte kMore{0}, kLast{1};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

double stream_round_ring(Transport& transport, const StreamOptions& options) {
  const int size = transport.size();
  if (size < 2) return 0;
  const int next = (transport.rank() + 1) % size, previous = (transport.rank() + size - 1) % size;
  std::vector<std::vector<std::byte>> out(kInFlight, std::vector<std::byte>(kSegmentBytes, kMore));
  std::vector<std::vector<std::byte>> in(kInFlight, std::vector<std::byte>(kSegmentBytes));
  const auto begin = Clock::now();
  for (int slot = 0; slot < kInFlight; ++slot) {
    transport.receive(kInFlight + slot, previous, in[static_cast<std::size_t>(slot)]);
    transport.send(slot, next, out[static_cast<std::size_t>(slot)]);
  }
  // Messages keep their order, so slots come round in turn. The last kInFlight messages say that
  // they are, one for each receive that the next rank has posted.
  int sending = 0, last_sent = 0, sends_done = 0, receiving = 0, last_received = 0;
  auto counted_from = begin, counted_to = begin;
  double bytes = 0;
  while (last_received < kInFlight || sends_done < kInFlight) {
    bool moved = false;
    const auto now = Clock::now();
    if (sends_done < kInFlight && transport.done(sending)) {
      moved = true;
      if (last_sent == kInFlight) {
        ++sends_done;
      } else {
        auto& segment = out[static_cast<std::size_t>(sending)];
        const bool over = seconds_between(begin, now) > options.settle + options.seconds;
        segment[0] = over ? kLast : kMore;
        last_sent += over ? 1 : 0;
        transport.send(sending, next, segment);
      }
      sending = (sending + 1) % kInFlight;
    }
    if (last_received < kInFlight && transport.done(kInFlight + receiving)) {
      moved = true;
      const auto& segment = in[static_cast<std::size_t>(receiving)];
      if (segment[0] == kLast) {
        ++last_received;
      } else {
        if (seconds_between(begin, now) < options.settle || counted_from == begin) {
          counted_from = now;  // what comes from here on counts
        } else {
          bytes += static_cast<double>(segment.size());
          counted_to = now;
        }
        transport.receive(kInFlight + receiving, previous, in[static_cast<std::size_t>(receiving)]);
      }
      receiving = (receiving + 1) % kInFlight;
    }
    if (moved)
      transport.progressed();
    else
      transport.pause();
  }
  const double seconds = seconds_between(counted_from, counted_to);
  return seconds > 0 ? bytes * 8 / seconds : 0;
}

}  // namespace thinpipe
