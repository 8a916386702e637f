#include "workloads/exchange/ring_all_reduce.h"

#include <algorithm>

#include "workloads/exchange/send_window.h"

namespace thinpipe {

namespace {

constexpr std::size_t kSegment = kSegmentBytes / sizeof(float);

// Chunk c of n: the first (elements mod n) chunks are one element longer.
struct Chunks {
  std::size_t elements;
  std::size_t ranks;
  std::size_t begin(std::size_t chunk) const {
    return chunk * (elements / ranks) + std::min(chunk, elements % ranks);
  }
  std::size_t size(std::size_t chunk) const { return begin(chunk + 1) - begin(chunk); }
};

// Walks the segments of the chunks first, first-1, first-2, ... (mod n), in the order in which
// they go round the ring.
class SegmentWalk {
 public:
  SegmentWalk(const Chunks& chunks, std::size_t first, std::size_t steps)
      : chunks_(chunks), chunk_(first), steps_left_(steps) {
    skip_empty();
  }
  bool finished() const { return steps_left_ == 0; }
  std::size_t steps_left() const { return steps_left_; }
  template <typename Float>
  std::span<Float> segment(std::span<Float> data) const {
    return data.subspan(chunks_.begin(chunk_) + offset_,
                        std::min(kSegment, chunks_.size(chunk_) - offset_));
  }
  void next() {
    offset_ += kSegment;
    if (offset_ >= chunks_.size(chunk_)) next_chunk();
    skip_empty();
  }

 private:
  void next_chunk() {
    offset_ = 0;
    chunk_ = (chunk_ + chunks_.ranks - 1) % chunks_.ranks;
    --steps_left_;
  }
  // With fewer elements than ranks some chunks are empty and send nothing.
  void skip_empty() {
    while (steps_left_ > 0 && chunks_.size(chunk_) == 0) next_chunk();
  }

  Chunks chunks_;
  std::size_t chunk_;
  std::size_t steps_left_;
  std::size_t offset_ = 0;
};

std::size_t segments_of_elements(std::size_t elements) {
  return (elements + kSegment - 1) / kSegment;
}

}  // namespace

RingAllReduce::RingAllReduce() : staging_(kSegment * kSegmentsInFlight) {}

std::size_t RingAllReduce::bytes_sent(std::size_t elements, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  const Chunks chunks{elements, n};
  std::size_t sent = 0;
  for (std::size_t step = 0; step < 2 * (n - 1); ++step)
    sent += chunks.size((r + 2 * n - step) % n);
  return sent * sizeof(float);
}

void RingAllReduce::run(Transport& transport, std::span<const float> own, std::span<float> result,
                        float factor) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  if (n == 1) {
    std::transform(own.begin(), own.end(), result.begin(),
                   [factor](float value) { return value * factor; });
    return;
  }
  const int right = static_cast<int>((rank + 1) % n), left = static_cast<int>((rank + n - 1) % n);
  const Chunks chunks{own.size(), n};
  const std::size_t steps = 2 * (n - 1);
  // Step s sends chunk rank-s and receives chunk rank-1-s: what is received in one step is sent in
  // the next, so a segment may be sent as soon as it has arrived (and been added).
  SegmentWalk sends(chunks, rank, steps);
  SegmentWalk posts(chunks, left, steps), arrivals(chunks, left, steps);
  std::size_t sendable = segments_of_elements(chunks.size(rank));
  std::size_t posted = 0, arrived = 0;
  constexpr std::size_t kWindow = kSegmentsInFlight;
  SendWindow window(transport, right, static_cast<int>(kWindow), kWindow);

  // The first n-1 steps reduce: those segments land beside the data and are added to it.
  const auto reduces = [&](const SegmentWalk& walk) { return walk.steps_left() > n - 1; };
  const auto completes = [&](const SegmentWalk& walk) { return walk.steps_left() == n; };
  const auto staged = [&](std::size_t index, std::size_t size) {
    return std::span(staging_).subspan(index % kWindow * kSegment, size);
  };

  while (!arrivals.finished() || !window.empty() || !sends.finished()) {
    bool moved = false;
    while (!posts.finished() && posted - arrived < kWindow) {
      const std::span<float> target = posts.segment(result);
      transport.receive(
          static_cast<int>(posted % kWindow), left, 0,
          std::as_writable_bytes(reduces(posts) ? staged(posted, target.size()) : target));
      posts.next();
      ++posted;
    }
    while (window.sent() < sendable && !sends.finished() && !window.full()) {
      // What a rank sends first is its own; later, what it has received.
      window.send(sends.steps_left() == steps
                      ? std::as_bytes(sends.segment(own))
                      : std::as_bytes(std::span<const float>(sends.segment(result))));
      sends.next();
      moved = true;
    }
    while (arrived < posted && transport.done(static_cast<int>(arrived % kWindow))) {
      if (reduces(arrivals)) {
        const std::span<float> target = arrivals.segment(result);
        const std::span<const float> mine = arrivals.segment(own);
        const std::span<const float> theirs = staged(arrived, target.size());
        const float scale = completes(arrivals) ? factor : 1.0F;
        for (std::size_t i = 0; i < target.size(); ++i) target[i] = (mine[i] + theirs[i]) * scale;
      }
      arrivals.next();
      ++arrived;
      ++sendable;
      moved = true;
    }
    if (window.collect()) moved = true;
    if (moved)
      transport.progressed();
    else
      transport.pause();
  }
}

}  // namespace thinpipe
