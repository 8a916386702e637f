#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "compressors/kernels/quantize.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

namespace {

constexpr std::size_t kFlowWindow = kSegmentsInFlight;
// Bytes that a paced outgoing channel may be ahead of the incoming channel that it keeps pace with.
// They are enough to keep a link busy for a round trip of segments.
constexpr std::size_t kAhead = kFlowWindow * kSegmentBytes;

void make_nans_one(std::span<std::byte> floats) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::span values(reinterpret_cast<float*>(floats.data()), floats.size() / sizeof(float));
  for (float& value : values) value = value == value ? value : kNan;
}

// The compiler vectorises these loops where arrays do not overlap.
void add_to_own(std::span<float> target, const float* __restrict own,
                const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (own[i] + theirs[i]) * scale;
}

void add_to_sums(std::span<float> target, const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (sums[i] + theirs[i]) * scale;
}

template <class To, class From>
std::span<To> elements(std::span<From> bytes) {
  return {reinterpret_cast<To*>(bytes.data()), bytes.size() / sizeof(To)};
}

// A rank of sum_by_plan().
struct Rank {
  AllReducePlan plan;
  std::vector<float> values;
  std::size_t next = 0;  // step
};

}  // namespace

void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums) {
  if (type != ElementType::kFloat32)
    return half_add(elements<const std::uint16_t>(a), elements<const std::uint16_t>(b), scale,
                    half_format(type), elements<std::uint16_t>(sums));
  const auto theirs = elements<const float>(b);
  if (a.data() == sums.data())
    add_to_sums(elements<float>(sums), theirs.data(), scale);
  else
    add_to_own(elements<float>(sums), elements<const float>(a).data(), theirs.data(), scale);
}

void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out) {
  if (type != ElementType::kFloat32) {
    half_scale(elements<const std::uint16_t>(a), scale, half_format(type),
               elements<std::uint16_t>(out));
    return;
  }
  const auto values = elements<const float>(a);
  std::transform(values.begin(), values.end(), elements<float>(out).begin(),
                 [scale](float value) { return value * scale; });
}

// Ranks take turns; each takes all steps whose messages have been sent.
void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out) {
  const int count = static_cast<int>(arrays.size());
  std::vector<Rank> ranks;
  for (int rank = 0; rank < count; ++rank) {
    const auto own = arrays[static_cast<std::size_t>(rank)];
    ranks.push_back({planner(count, rank), {own.begin(), own.end()}});
  }
  if (count == 1)
    for (float& value : ranks[0].values) value = rounded(value * factor, type);
  // By sender, receiver and tag.
  std::map<std::tuple<int, int, int>, std::deque<std::vector<float>>> messages;
  const auto step = [&](int number) {
    Rank& rank = ranks[static_cast<std::size_t>(number)];
    if (rank.next == rank.plan.steps.size()) return false;
    const AllReduceStep& now = rank.plan.steps[rank.next];
    const Parts parts{out.size(), static_cast<std::size_t>(rank.plan.parts), size_of(type)};
    const auto first = static_cast<std::size_t>(now.first);
    const auto range =
        std::span(rank.values)
            .subspan(parts.begin(first), parts.size(first, static_cast<std::size_t>(now.last)));
    if (now.kind == StepKind::kSend) {
      messages[{number, now.peer, now.tag}].emplace_back(range.begin(), range.end());
    } else {
      auto& queue = messages[{now.peer, number, now.tag}];
      if (queue.empty()) return false;
      const std::vector<float> theirs = std::move(queue.front());
      queue.pop_front();
      const float scale = now.completes ? factor : 1.0F;
      for (std::size_t i = 0; i < range.size(); ++i)
        range[i] = now.kind == StepKind::kReplace ? theirs[i]
                                                  : rounded((range[i] + theirs[i]) * scale, type);
    }
    ++rank.next;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < count; ++rank)
      while (step(rank)) moved = true;
  }
  for (const Rank& rank : ranks)
    if (rank.next != rank.plan.steps.size()) throw std::logic_error("an all-reduce plan deadlocks");
  std::copy(ranks[0].values.begin(), ranks[0].values.end(), out.begin());
}

AllReduceFlow::AllReduceFlow(const AllReducePlan& plan)
    : mirrored_(plan.mirrored), places_(static_cast<std::size_t>(plan.parts) + 1) {
  const auto parts = static_cast<std::size_t>(plan.parts);
  std::vector<std::uint16_t> receives(parts), sends(parts);
  for (const AllReduceStep& step : plan.steps) {
    const bool out = step.kind == StepKind::kSend;
    Channel& way = channel(out, step);
    const bool adds = step.kind == StepKind::kAdd;
    if (adds && way.staging == nullptr)
      way.staging = std::make_unique_for_overwrite<std::byte[]>(kFlowWindow * kSegmentBytes);
    for (int part = step.first; part < step.last; ++part) {
      const auto p = static_cast<std::size_t>(part);
      way.pieces.push_back({.part = part,
                            .adds = adds,
                            .completes = step.completes,
                            .receives = receives[p],
                            .sends = sends[p]});
      // A send before anything was received reads `own`, which does not change.
      if (!out)
        ++receives[p];
      else if (receives[p] > 0)
        ++sends[p];
    }
  }
  for (const AllReduceStep& step : plan.steps)
    for (std::size_t i = 0; i < channels_.size(); ++i)
      if (step.kind == StepKind::kSend && step.paced && !channels_[i].out &&
          channels_[i].tag == step.tag)
        channel(true, step).pace = static_cast<int>(i);
}

AllReduceFlow::Channel& AllReduceFlow::channel(bool out, const AllReduceStep& step) {
  for (Channel& known : channels_)
    if (known.out == out && known.peer == step.peer && known.tag == step.tag) return known;
  Channel& made = channels_.emplace_back();
  made.out = out;
  made.peer = step.peer;
  made.tag = step.tag;
  made.first_slot = static_cast<int>(channels_.size() - 1) * kSegmentsInFlight;
  return made;
}

void AllReduceFlow::advance(const Channel& channel, Cursor& cursor) const {
  cursor.offset += segment_;
  if (cursor.offset < size_at(channel, cursor)) return;
  cursor = {cursor.piece + 1, 0};
  skip_empty(channel, cursor);
}

AllReduceFlow::Segment AllReduceFlow::segment_at(const Channel& channel,
                                                 const Cursor& cursor) const {
  const Place& place = places_[static_cast<std::size_t>(channel.pieces[cursor.piece].part)];
  return {(place.begin + cursor.offset) * element_bytes_,
          std::min(segment_, size_at(channel, cursor) - cursor.offset) * element_bytes_,
          place.first_segment + cursor.offset / segment_};
}

void AllReduceFlow::reset(const Parts& parts) {
  element_bytes_ = parts.element_bytes;
  segment_ = parts.segment();
  for (std::size_t part = 0; part <= parts.count; ++part)
    places_[part] = {parts.begin(part), parts.first_segment(part)};
  received_.assign(places_.back().first_segment, 0);
  sent_.assign(places_.back().first_segment, 0);
  for (Channel& channel : channels_) {
    channel.starts = channel.ends = {};
    skip_empty(channel, channel.starts);
    skip_empty(channel, channel.ends);
    channel.started = channel.finished = 0;
    channel.bytes_started = channel.bytes_finished = 0;
    channel.arrived = false;
  }
}

void AllReduceFlow::run(Transport& transport, ElementType type, std::span<const std::byte> own,
                        std::span<std::byte> result, float factor) {
  if (channels_.empty()) return scale_elements(type, own, factor, result);
  const Call call{transport, type, own, result, factor};
  reset({own.size() / size_of(type), places_.size() - 1, size_of(type)});
  for (bool busy = true; busy;) {
    bool moved = false;
    for (Channel& channel : channels_)
      moved = (channel.out ? finish_sends(call, channel) : receive(call, channel)) || moved;
    for (bool sent = true; sent;) {
      sent = false;
      for (Channel& channel : channels_) sent = (channel.out && send_one(call, channel)) || sent;
      moved = moved || sent;
    }
    busy = std::any_of(channels_.begin(), channels_.end(),
                       [](const Channel& channel) { return !at_end(channel, channel.ends); });
    if (moved)
      transport.progressed();
    else if (busy)
      transport.pause();
  }
}

bool AllReduceFlow::receive(const Call& call, Channel& in) {
  while (!at_end(in, in.starts) && in.started - in.finished < kFlowWindow) {
    const Segment segment = segment_at(in, in.starts);
    // A segment that replaces values, rather than adding to them, is received directly into the
    // result. The result still has partial sums that this rank sends. Overwriting them is safe: the
    // replacement cannot arrive before the partial sums have been sent.
    const std::span<std::byte> target =
        in.pieces[in.starts.piece].adds
            ? std::span(in.staging.get() + in.started % kFlowWindow * kSegmentBytes, segment.size)
            : call.result.subspan(segment.begin, segment.size);
    call.transport.receive(in.first_slot + static_cast<int>(in.started % kFlowWindow), in.peer,
                           in.tag, target);
    ++in.started;
    advance(in, in.starts);
  }
  bool moved = false;
  while (in.finished < in.started) {
    in.arrived = in.arrived ||
                 call.transport.done(in.first_slot + static_cast<int>(in.finished % kFlowWindow));
    if (!in.arrived) break;
    const Piece& piece = in.pieces[in.ends.piece];
    const auto [begin, size, number] = segment_at(in, in.ends);
    if (received_[number] < piece.receives || (piece.adds && sent_[number] < piece.sends)) break;
    if (piece.adds) apply(call, in);
    ++received_[number];
    ++in.finished;
    in.bytes_finished += size;
    in.arrived = false;
    advance(in, in.ends);
    moved = true;
  }
  return moved;
}

void AllReduceFlow::apply(const Call& call, Channel& in) {
  const Piece& piece = in.pieces[in.ends.piece];
  const Segment segment = segment_at(in, in.ends);
  const std::span<std::byte> sums = call.result.subspan(segment.begin, segment.size);
  const std::span<const std::byte> before =
      piece.receives == 0 ? call.own.subspan(segment.begin, segment.size) : sums;
  const std::span<const std::byte> theirs =
      std::span(in.staging.get() + in.finished % kFlowWindow * kSegmentBytes, segment.size);
  add_elements(call.type, before, theirs, piece.completes ? call.factor : 1.0F, sums);
  if (mirrored_ && call.type == ElementType::kFloat32) make_nans_one(sums);
}

bool AllReduceFlow::finish_sends(const Call& call, Channel& out) {
  bool moved = false;
  while (out.finished < out.started &&
         call.transport.done(out.first_slot + static_cast<int>(out.finished % kFlowWindow))) {
    if (out.pieces[out.ends.piece].receives > 0) ++sent_[segment_at(out, out.ends).number];
    ++out.finished;
    advance(out, out.ends);
    moved = true;
  }
  return moved;
}

bool AllReduceFlow::send_one(const Call& call, Channel& out) {
  if (at_end(out, out.starts) || out.started - out.finished == kFlowWindow) return false;
  const Piece& piece = out.pieces[out.starts.piece];
  const Segment segment = segment_at(out, out.starts);
  if (received_[segment.number] < piece.receives) return false;
  if (out.pace >= 0 &&
      out.bytes_started >= channels_[static_cast<std::size_t>(out.pace)].bytes_finished + kAhead)
    return false;
  const std::span<const std::byte> source = piece.receives == 0 ? call.own : call.result;
  call.transport.send(out.first_slot + static_cast<int>(out.started % kFlowWindow), out.peer,
                      out.tag, source.subspan(segment.begin, segment.size));
  ++out.started;
  out.bytes_started += segment.size;
  advance(out, out.starts);
  return true;
}

}  // namespace thinpipe
