// Do the bytes that the links counted add up to what the ranks sent?
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/thresholds.h"
#include "netem/link_spec.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// A header of 22 bytes goes before each message in Open MPI 4.1 over TCP (match + BTL).
constexpr double kMessageHeader = 22;

// Workers, then servers.
const json& answer_of(const PointSamples& samples, std::size_t step, std::size_t rank) {
  const std::size_t workers = samples.answers[step].size();
  return rank < workers ? samples.answers[step][rank] : samples.servers.at(step).at(rank - workers);
}

double sum_of(const PointSamples& samples, const char* field, std::size_t rank) {
  double sum = 0;
  for (std::size_t step = 0; step < samples.answers.size(); ++step)
    sum += answer_of(samples, step, rank).at(field).get<double>();
  return sum;
}

double message_bytes(const PointSamples& samples, std::size_t rank) {
  return sum_of(samples, "sent_bytes", rank) +
         kMessageHeader * sum_of(samples, "sent_messages", rank);
}

std::size_t ranks_of(const PointSamples& samples) {
  if (samples.answers.empty()) return 0;
  return samples.answers[0].size() + (samples.servers.empty() ? 0 : samples.servers[0].size());
}

// Workers that send to one server at a time meet at its switch port, which drops what its queue
// does not hold: TCP sends it again.
double dropped_bytes(const PointSamples& samples) {
  return samples.servers.empty() ? 0
                                 : static_cast<double>(samples.wire.drops) * samples.frame_bytes;
}

// Of a link that loses frames fewer arrive than were sent, and those are sent again.
void doubt_switches(const PointSamples& samples, std::vector<std::string>& doubts) {
  for (const ThroughSwitch& one : samples.wire.switches) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (std::fabs(in - out) > kWireTolerance * in + 10 * kSlackBytes + dropped_bytes(samples))
      doubts.push_back(fmt::format("{} came into the {} but {} left it; {} frames were dropped",
                                   format_bytes(in), one.name, format_bytes(out),
                                   samples.wire.drops));
  }
  for (const WireCount::Detour& one : samples.wire.detours) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (one.drops == 0 && in - out > kWireTolerance * in + 10 * kSlackBytes)
      doubts.push_back(fmt::format("{} sent {}, of which {} passed its shaper at the switch",
                                   one.name, format_bytes(in), format_bytes(out)));
  }
}

// One rank whose messages take another way is lost in the sum over many.
void doubt_ranks(const PointSamples& samples, std::vector<std::string>& doubts) {
  for (std::size_t rank = 0; rank < std::min(ranks_of(samples), samples.wire.sent_by.size());
       ++rank) {
    const double least = message_bytes(samples, rank) * samples.frame_bytes / samples.payload_bytes;
    const double sent = static_cast<double>(samples.wire.sent_by[rank]);
    if (sent < least * (1 - kWireTolerance))
      doubts.push_back(fmt::format(
          "the link of rank {} counted {} for messages that take {} at least: bytes went astray",
          rank, format_bytes(sent), format_bytes(least)));
  }
}

}  // namespace

WireBounds wire_bounds(const PointSamples& samples) {
  double bytes = 0, sent_frames = 0;
  for (std::size_t rank = 0; rank < ranks_of(samples); ++rank) {
    bytes += message_bytes(samples, rank);
    sent_frames += sum_of(samples, "sent_frames", rank);
  }
  // Ethernet, IP and TCP headers with timestamps: a frame's bytes that are not payload.
  const double header = samples.frame_bytes - samples.payload_bytes;
  // Workers count frames at MTU 1500.
  const double frames =
      sent_frames * std::max(1.0, static_cast<double>(kPayloadBytes) / samples.payload_bytes);
  const double steps = static_cast<double>(samples.answers.size());
  return {
      bytes * samples.frame_bytes / samples.payload_bytes,
      bytes + 2 * header * frames + kSlackBytes * steps * static_cast<double>(ranks_of(samples))};
}

std::vector<std::string> wire_doubts(const PointSamples& samples) {
  std::vector<std::string> doubts;
  if (samples.wire.restarted)
    return {"a link's counters began anew meanwhile: somebody replaced its qdisc"};
  const double sent = static_cast<double>(samples.wire.sent);
  const WireBounds bounds = wire_bounds(samples);
  if (bounds.least > 0 &&
      (sent < bounds.least * (1 - kWireTolerance) ||
       (samples.lossless && sent > bounds.most * (1 + kWireTolerance) + dropped_bytes(samples))))
    doubts.push_back(
        fmt::format("the links counted {} for messages that take {} to {}: bytes went astray or "
                    "were sent twice ({} frames dropped)",
                    format_bytes(sent), format_bytes(bounds.least), format_bytes(bounds.most),
                    samples.wire.drops));
  if (doubts.empty()) doubt_ranks(samples, doubts);
  if (samples.lossless) doubt_switches(samples, doubts);
  return doubts;
}

}  // namespace thinpipe
