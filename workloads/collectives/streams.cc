#include "workloads/collectives/streams.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

constexpr std::size_t kStreamsWindow = kSegmentsInFlight;
constexpr int kStreamsTag = 0;

std::uint64_t length_in(std::span<const std::byte> head) {
  std::uint64_t length = 0;
  std::memcpy(&length, head.data(), kStreamLengthBytes);
  return length;
}

// Returns the first slot of the index-th message under way, of those sent or of those received.
int slot_of(std::size_t index, bool in) {
  return static_cast<int>((2 * index + (in ? 1 : 0)) * kStreamsWindow);
}

}  // namespace

std::span<const std::byte> framed_content(std::span<const std::byte> message) {
  return message.subspan(kStreamLengthBytes, length_in(message));
}

void Streams::receive_framed(int peer, std::vector<std::byte>& room, std::size_t longest) {
  if (room.size() < kSegmentBytes) room.resize(kSegmentBytes);
  in_.push_back(
      {.peer = peer, .room = room, .total = kSegmentBytes, .framed = &room, .longest = longest});
}

/// Checks that the next segment that has arrived has the expected size. For a framed message, the
/// first segment has the length of the whole message, from which the sizes of all its segments
/// follow.
void Streams::arrived(In& in, std::size_t size) {
  if (in.framed != nullptr) {
    const std::uint64_t length = size < kStreamLengthBytes ? 0 : length_in(in.room);
    if (size < kStreamLengthBytes || length > in.longest)
      throw PayloadError(fmt::format(
          "message of rank {}: {} bytes announced in a segment of {}; expected at most {}", in.peer,
          length, size, in.longest));
    in.total = kStreamLengthBytes + length;
    if (in.framed->size() < in.total) in.framed->resize(in.total);
    in.room = *in.framed;
    in.framed = nullptr;
  }
  const std::size_t expected = std::min(kSegmentBytes, in.total - in.arrived * kSegmentBytes);
  if (size != expected)
    throw PayloadError(fmt::format("message of rank {}: segment {} of {} bytes; expected {}",
                                   in.peer, in.arrived, size, expected));
  ++in.arrived;
}

bool Streams::progress(Transport& transport, In& in, int first_slot) {
  const auto slot = [&](std::size_t segment) {
    return first_slot + static_cast<int>(segment % kStreamsWindow);
  };
  bool moved = false;
  for (; in.posted < in.segments() && in.posted - in.arrived < kStreamsWindow; ++in.posted) {
    const std::size_t at = in.posted * kSegmentBytes;
    transport.receive(slot(in.posted), in.peer, kStreamsTag,
                      in.room.subspan(at, std::min(kSegmentBytes, in.total - at)));
  }
  for (std::size_t size = 0; in.arrived < in.posted && transport.done(slot(in.arrived), &size);
       moved = true)
    arrived(in, size);
  return moved;
}

bool Streams::progress(Transport& transport, Out& out, int first_slot) {
  const auto slot = [&](std::size_t segment) {
    return first_slot + static_cast<int>(segment % kStreamsWindow);
  };
  bool moved = false;
  for (; out.done < out.sent && transport.done(slot(out.done)); moved = true) ++out.done;
  for (; out.sent < out.segments && out.sent - out.done < kStreamsWindow; ++out.sent) {
    const std::size_t at = out.sent * kSegmentBytes;
    transport.send(slot(out.sent), out.peer, kStreamsTag,
                   out.data.subspan(at, std::min(kSegmentBytes, out.data.size() - at)));
    moved = true;
  }
  return moved;
}

void Streams::run(Transport& transport) {
  std::size_t out = 0, in = 0;  // messages before these have ended
  for (;;) {
    bool moved = false;
    for (std::size_t i = in; i < std::min(in + at_once_, in_.size()); ++i)
      moved |= progress(transport, in_[i], slot_of(i % at_once_, true));
    for (std::size_t i = out; i < std::min(out + at_once_, out_.size()); ++i)
      moved |= progress(transport, out_[i], slot_of(i % at_once_, false));
    while (in < in_.size() && in_[in].framed == nullptr && in_[in].arrived == in_[in].segments())
      ++in;
    while (out < out_.size() && out_[out].done == out_[out].segments) ++out;
    if (in == in_.size() && out == out_.size()) break;
    if (moved)
      transport.progressed();
    else
      transport.pause();
  }
  out_.clear();
  in_.clear();
}

void BlockGather::run(Transport& transport, std::span<const std::size_t> sizes,
                      std::span<std::byte> blocks) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  begins_.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) begins_[i + 1] = begins_[i] + sizes[(rank + i) % n];
  rotated_.resize(begins_[n]);
  const std::size_t before = std::accumulate(sizes.begin(), sizes.begin() + rank, std::size_t{0});
  std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(before), sizes[rank], rotated_.begin());
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t some = std::min(have, n - have);
    streams_.send(static_cast<int>((rank + n - have) % n),
                  std::span(rotated_).first(begins_[some]));
    streams_.receive(
        static_cast<int>((rank + have) % n),
        std::span(rotated_).subspan(begins_[have], begins_[have + some] - begins_[have]));
    streams_.run(transport);
  }
  // Rank 0's block comes after the blocks from this rank on.
  const auto zero = static_cast<std::ptrdiff_t>(begins_[n - rank]);
  std::rotate_copy(rotated_.begin(), rotated_.begin() + zero, rotated_.end(), blocks.begin());
}

std::size_t MeanCount::run(Transport& transport, std::size_t own, std::size_t most) {
  if (own > most) throw InputError(fmt::format("{} elements of a vector of {}", own, most));
  const auto n = static_cast<std::size_t>(transport.size());
  counts_.assign(n, 0);
  counts_[static_cast<std::size_t>(transport.rank())] = static_cast<std::uint32_t>(own);
  sizes_.assign(n, sizeof(std::uint32_t));
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(counts_)));
  std::uint64_t sum = 0;
  for (std::size_t from = 0; from < n; ++from) {
    if (counts_[from] > most)
      throw PayloadError(fmt::format("rank {} announces {} elements of a vector of {}", from,
                                     counts_[from], most));
    sum += counts_[from];
  }
  return (sum + n - 1) / n;
}

}  // namespace thinpipe
