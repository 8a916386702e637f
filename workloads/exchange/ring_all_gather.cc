#include "workloads/exchange/ring_all_gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "workloads/exchange/send_window.h"

namespace thinpipe {

namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kWindow = kSegmentsInFlight;

std::size_t segments_of_bytes(std::size_t bytes) {
  return (bytes + kSegmentBytes - 1) / kSegmentBytes;
}

}  // namespace

RingAllGather::RingAllGather(int ranks, std::size_t capacity)
    : capacity_(capacity),
      // Cache lines apart, so that no two messages share one.
      stride_((capacity + kLengthBytes + 63) / 64 * 64),
      arena_(static_cast<std::size_t>(ranks) * stride_),
      staging_(kWindow * kSegmentBytes),
      messages_(static_cast<std::size_t>(ranks)) {}

const std::vector<std::span<const std::byte>>& RingAllGather::run(Transport& transport,
                                                                  std::span<const std::byte> own) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  if (own.size() > capacity_) throw InputError("all-gather: a message longer than the capacity");
  const std::uint64_t own_length = own.size();
  std::memcpy(framed(rank).data(), &own_length, kLengthBytes);
  std::copy(own.begin(), own.end(), framed(rank).begin() + kLengthBytes);
  messages_[rank] = framed(rank).subspan(kLengthBytes, own.size());

  const int right = static_cast<int>((rank + 1) % n), left = static_cast<int>((rank + n - 1) % n);
  // Messages come round as left's own, then what left received, and so on. All but the last
  // are passed on; the outgoing stream is our own message and then the incoming ones.
  struct Stream {
    std::size_t rank;        // whose message is under way
    std::size_t offset = 0;  // bytes of it handled, length included
    std::size_t left;        // messages not finished yet
  };
  Stream in{static_cast<std::size_t>(left), 0, n - 1}, out{rank, 0, n - 1};
  std::vector<std::size_t> total(n, 0);  // framed bytes of a message; 0 until its head arrived
  total[rank] = own.size() + kLengthBytes;

  // Every message has at least one segment; more become certain when a head arrives.
  std::size_t certain = n - 1, posted = 0, arrived = 0;
  SendWindow window(transport, right, static_cast<int>(kWindow), kWindow);
  while (in.left > 0 || out.left > 0 || !window.empty()) {
    bool moved = false;
    while (posted < certain && posted - arrived < kWindow) {
      transport.receive(
          static_cast<int>(posted % kWindow), left, 0,
          std::span(staging_).subspan(posted % kWindow * kSegmentBytes, kSegmentBytes));
      ++posted;
    }
    std::size_t size = 0;
    while (arrived < posted && transport.done(static_cast<int>(arrived % kWindow), &size)) {
      const std::span<const std::byte> segment =
          std::span(staging_).subspan(arrived % kWindow * kSegmentBytes, size);
      if (in.offset == 0) {
        std::uint64_t length = 0;
        if (size >= kLengthBytes) std::memcpy(&length, segment.data(), kLengthBytes);
        if (size < kLengthBytes || length > capacity_)
          throw InputError("all-gather: rank " + std::to_string(in.rank) +
                           " announced a message of impossible length " + std::to_string(length));
        total[in.rank] = length + kLengthBytes;
        certain += segments_of_bytes(total[in.rank]) - 1;
      }
      if (in.offset + size > total[in.rank])
        throw InputError("all-gather: a segment runs past the end of its message");
      std::copy(segment.begin(), segment.end(),
                framed(in.rank).begin() + static_cast<std::ptrdiff_t>(in.offset));
      in.offset += size;
      if (in.offset == total[in.rank]) {
        messages_[in.rank] = framed(in.rank).subspan(kLengthBytes, total[in.rank] - kLengthBytes);
        in = {(in.rank + n - 1) % n, 0, in.left - 1};
      }
      ++arrived;
      moved = true;
    }
    while (out.left > 0 && !window.full()) {
      // How much of the outgoing message is here: all of a finished one, else what has arrived.
      const bool arriving = in.left > 0 && out.rank == in.rank && out.rank != rank;
      const std::size_t here = arriving ? in.offset : total[out.rank];
      if (total[out.rank] == 0 || out.offset >= here) break;
      const std::size_t chunk = std::min(kSegmentBytes, total[out.rank] - out.offset);
      if (out.offset + chunk > here) break;
      window.send(framed(out.rank).subspan(out.offset, chunk));
      out.offset += chunk;
      moved = true;
      if (out.offset == total[out.rank]) out = {(out.rank + n - 1) % n, 0, out.left - 1};
    }
    if (window.collect()) moved = true;
    if (moved)
      transport.progressed();
    else
      transport.pause();
  }
  return messages_;
}

}  // namespace thinpipe
