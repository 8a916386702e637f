#include "workloads/exchange/all_reduce_flow.h"

#include <algorithm>
#include <limits>

namespace thinpipe {

namespace {

constexpr std::size_t kFlowWindow = kSegmentsInFlight;
// Floats that a paced channel may be ahead: enough that a link is not idle while one of its
// segments goes there and another comes back.
constexpr std::size_t kAhead = kFlowWindow * kSegmentFloats;

void add_to_own(std::span<float> target, const float* __restrict own,
                const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (own[i] + theirs[i]) * scale;
}

void add_to_sums(std::span<float> target, const float* __restrict theirs, float scale) {
  float* __restrict sums = target.data();
  for (std::size_t i = 0; i < target.size(); ++i) sums[i] = (sums[i] + theirs[i]) * scale;
}

void make_nans_one(std::span<float> values) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (float& value : values) value = value == value ? value : kNan;
}

}  // namespace

AllReduceFlow::AllReduceFlow(const AllReducePlan& plan)
    : mirrored_(plan.mirrored), places_(static_cast<std::size_t>(plan.parts) + 1) {
  const auto parts = static_cast<std::size_t>(plan.parts);
  std::vector<std::uint16_t> receives(parts), sends(parts);
  for (const AllReduceStep& step : plan.steps) {
    const bool out = step.kind == StepKind::kSend;
    Channel& way = channel(out, step);
    const bool adds = step.kind == StepKind::kAdd;
    if (adds) way.staging.resize(kFlowWindow * kSegmentFloats);
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

bool AllReduceFlow::at_end(const Channel& channel, const Cursor& cursor) {
  return cursor.piece == channel.pieces.size();
}

// Of the part.
std::size_t AllReduceFlow::size_at(const Channel& channel, const Cursor& cursor) const {
  const auto part = static_cast<std::size_t>(channel.pieces[cursor.piece].part);
  return places_[part + 1].begin - places_[part].begin;
}

// With fewer elements than parts some are empty and send nothing.
void AllReduceFlow::skip_empty(const Channel& channel, Cursor& cursor) const {
  while (!at_end(channel, cursor) && size_at(channel, cursor) == 0) ++cursor.piece;
}

void AllReduceFlow::advance(const Channel& channel, Cursor& cursor) const {
  cursor.offset += kSegmentFloats;
  if (cursor.offset < size_at(channel, cursor)) return;
  cursor = {cursor.piece + 1, 0};
  skip_empty(channel, cursor);
}

AllReduceFlow::Segment AllReduceFlow::segment_at(const Channel& channel,
                                                 const Cursor& cursor) const {
  const Place& place = places_[static_cast<std::size_t>(channel.pieces[cursor.piece].part)];
  return {place.begin + cursor.offset,
          std::min(kSegmentFloats, size_at(channel, cursor) - cursor.offset),
          place.first_segment + cursor.offset / kSegmentFloats};
}

void AllReduceFlow::reset(const Parts& parts) {
  for (std::size_t part = 0; part <= parts.count; ++part)
    places_[part] = {parts.begin(part), parts.first_segment(part)};
  received_.assign(places_.back().first_segment, 0);
  sent_.assign(places_.back().first_segment, 0);
  for (Channel& channel : channels_) {
    channel.starts = channel.ends = {};
    skip_empty(channel, channel.starts);
    skip_empty(channel, channel.ends);
    channel.started = channel.finished = 0;
    channel.floats_started = channel.floats_finished = 0;
    channel.arrived = false;
  }
}

void AllReduceFlow::run(Transport& transport, std::span<const float> own, std::span<float> result,
                        float factor) {
  if (channels_.empty()) {
    std::transform(own.begin(), own.end(), result.begin(),
                   [factor](float value) { return value * factor; });
    return;
  }
  const Call call{transport, own, result, factor};
  reset({own.size(), places_.size() - 1});
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
    // What replaces goes to its place at once: it holds what this rank has sent of it, so that it
    // cannot come before that has left.
    const std::span<float> target =
        in.pieces[in.starts.piece].adds
            ? std::span(in.staging).subspan(in.started % kFlowWindow * kSegmentFloats, segment.size)
            : call.result.subspan(segment.begin, segment.size);
    call.transport.receive(in.first_slot + static_cast<int>(in.started % kFlowWindow), in.peer,
                           in.tag, std::as_writable_bytes(target));
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
    in.floats_finished += size;
    in.arrived = false;
    advance(in, in.ends);
    moved = true;
  }
  return moved;
}

void AllReduceFlow::apply(const Call& call, Channel& in) {
  const Piece& piece = in.pieces[in.ends.piece];
  const Segment segment = segment_at(in, in.ends);
  const std::span<float> sums = call.result.subspan(segment.begin, segment.size);
  const float* const theirs = in.staging.data() + in.finished % kFlowWindow * kSegmentFloats;
  const float scale = piece.completes ? call.factor : 1.0F;
  if (piece.receives == 0)
    add_to_own(sums, call.own.data() + segment.begin, theirs, scale);
  else
    add_to_sums(sums, theirs, scale);
  if (mirrored_) make_nans_one(sums);
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
      out.floats_started >= channels_[static_cast<std::size_t>(out.pace)].floats_finished + kAhead)
    return false;
  const std::span<const float> source = piece.receives == 0 ? call.own : call.result;
  call.transport.send(out.first_slot + static_cast<int>(out.started % kFlowWindow), out.peer,
                      out.tag, std::as_bytes(source.subspan(segment.begin, segment.size)));
  ++out.started;
  out.floats_started += segment.size;
  advance(out, out.starts);
  return true;
}

}  // namespace thinpipe
