#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kGatherWindow = kSegmentsInFlight;

// A message that is complete in memory.
class GatherFromHere : public StagedGather {
 public:
  explicit GatherFromHere(std::span<const std::byte> own) : own_(own) {}
  std::span<const std::byte> own() const override { return own_; }
  std::size_t ready() override { return own_.size(); }
  void arrived(int, std::span<const std::byte>) override {}

 private:
  std::span<const std::byte> own_;
};

}  // namespace

AllGatherFlow::AllGatherFlow(const AllGatherPlan& plan, const Transport& transport,
                             std::size_t capacity)
    : capacity_(capacity),
      // Messages begin on cache lines, so that no two share one.
      stride_((capacity + kLengthBytes + 63) / 64 * 64),
      arena_(transport.message_memory(stride_)),
      total_(static_cast<std::size_t>(transport.size())),
      here_(total_.size()),
      messages_(total_.size()) {
  int first_slot = 0;
  for (const GatherChannel& channel : plan) {
    if (channel.out)
      outlets_.push_back({.channel = channel, .first_slot = first_slot});
    else
      inlets_.push_back(
          {.channel = channel, .window = {channel.peer, first_slot, kGatherWindow, channel.tag}});
    first_slot += kSegmentsInFlight;
  }
  windows_.reserve(outlets_.size());
}

const std::vector<std::span<const std::byte>>& AllGatherFlow::run(Transport& transport,
                                                                  std::span<const std::byte> own) {
  GatherFromHere here(own);
  return run(transport, here);
}

const std::vector<std::span<const std::byte>>& AllGatherFlow::run(Transport& transport,
                                                                  StagedGather& staged) {
  const std::uint64_t own_length = staged.own().size();
  if (own_length > capacity_) throw InputError("all-gather: a message longer than the capacity");
  const auto rank = static_cast<std::size_t>(transport.rank());
  std::memcpy(framed(rank).data(), &own_length, kLengthBytes);
  messages_[rank] = framed(rank).subspan(kLengthBytes, own_length);
  std::fill(total_.begin(), total_.end(), 0);
  std::fill(here_.begin(), here_.end(), 0);
  total_[rank] = own_length + kLengthBytes;
  here_[rank] = kLengthBytes;

  windows_.clear();
  for (Outlet& out : outlets_) {
    out.message = out.offset = 0;
    windows_.emplace_back(transport, out.channel.peer, out.first_slot, kGatherWindow,
                          out.channel.tag);
  }
  for (Inlet& in : inlets_) {
    in.message = 0;
    in.window.begin(in.channel.messages.size());
  }
  for (bool busy = true; busy;) {
    bool moved = stage(staged, rank);
    busy = here_[rank] < total_[rank];
    for (Inlet& in : inlets_) {
      const auto taken = [&](std::span<const std::byte> segment) { take(in, segment, staged); };
      moved = in.window.advance(transport, taken) || moved;
      busy = busy || in.message < in.channel.messages.size();
    }
    for (bool sent = true; sent;) {
      sent = false;
      for (std::size_t i = 0; i < outlets_.size(); ++i)
        sent = send_one(outlets_[i], windows_[i]) || sent;
      moved = moved || sent;
    }
    for (std::size_t i = 0; i < outlets_.size(); ++i) {
      moved = windows_[i].collect() || moved;
      busy =
          busy || outlets_[i].message < outlets_[i].channel.messages.size() || !windows_[i].empty();
    }
    if (moved)
      transport.progressed();
    else if (busy)
      transport.pause();
  }
  return messages_;
}

/// Copies the bytes of this rank's message that have become ready. @returns whether there are any
bool AllGatherFlow::stage(StagedGather& staged, std::size_t rank) {
  if (here_[rank] == total_[rank]) return false;
  const std::size_t before = here_[rank] - kLengthBytes, ready = staged.ready();
  const auto more = staged.own().subspan(before, ready - before);
  std::copy(more.begin(), more.end(),
            framed(rank).begin() + static_cast<std::ptrdiff_t>(here_[rank]));
  here_[rank] += more.size();
  return !more.empty();
}

void AllGatherFlow::take(Inlet& in, std::span<const std::byte> segment, StagedGather& staged) {
  const auto of = static_cast<std::size_t>(in.channel.messages[in.message]);
  if (here_[of] == 0) {
    std::uint64_t length = 0;
    if (segment.size() >= kLengthBytes) std::memcpy(&length, segment.data(), kLengthBytes);
    if (segment.size() < kLengthBytes || length > capacity_)
      throw InputError("all-gather: rank " + std::to_string(of) +
                       " announced a message of impossible length " + std::to_string(length));
    total_[of] = length + kLengthBytes;
    in.window.expect(segments_of_bytes(total_[of]) - 1);
  }
  if (here_[of] + segment.size() > total_[of])
    throw InputError("all-gather: a segment runs past the end of its message");
  std::copy(segment.begin(), segment.end(),
            framed(of).begin() + static_cast<std::ptrdiff_t>(here_[of]));
  here_[of] += segment.size();
  if (here_[of] < total_[of]) return;
  messages_[of] = framed(of).subspan(kLengthBytes, total_[of] - kLengthBytes);
  staged.arrived(static_cast<int>(of), messages_[of]);
  ++in.message;
}

bool AllGatherFlow::send_one(Outlet& out, SendWindow& window) {
  if (out.message == out.channel.messages.size() || window.full()) return false;
  const auto of = static_cast<std::size_t>(out.channel.messages[out.message]);
  if (here_[of] == 0) return false;
  const std::size_t chunk = std::min(kSegmentBytes, total_[of] - out.offset);
  if (out.offset + chunk > here_[of]) return false;
  window.send(framed(of).subspan(out.offset, chunk));
  out.offset += chunk;
  if (out.offset == total_[of]) {
    ++out.message;
    out.offset = 0;
  }
  return true;
}

}  // namespace thinpipe
