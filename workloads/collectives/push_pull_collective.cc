#include "workloads/collectives/push_pull_collective.h"

#include <utility>

#include <fmt/format.h>

#include "compressors/compressor.h"

namespace thinpipe {

namespace {

// Bytes that a worker may send beyond the end of its first unit without an answer (the next unit
// may always be sent). With 2 workers and 2 servers at 100 Mbit/s, the used fractions of the links'
// bandwidth were 0.961, 0.948 and 0.932 for 1, 2 and 4 segments. At 1 Gbit/s more segments were not
// better either. A small limit helps because workers then keep pace with each other.
constexpr std::size_t kAheadBytes = kSegmentBytes;

}  // namespace

PushPullWorker::PushPullWorker(Transport& transport, PushPullLayout layout)
    : transport_(transport),
      layout_(std::move(layout)),
      pulled_(layout_.units.size()),
      awaited_(layout_.units.size()),
      push_of_(layout_.units.size()),
      own_server_(layout_.colocated ? transport.rank() : -1) {
  left_of_.reserve(layout_.units.size() + 1);
  std::size_t bytes = 0;
  for (const ExchangeUnit& unit : layout_.units) bytes += unit.pull_capacity;
  arena_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::size_t at = 0;
  for (const ExchangeUnit& unit : layout_.units) {
    places_.emplace_back(arena_.get() + at, unit.pull_capacity);
    at += unit.pull_capacity;
  }
  const std::size_t window = segments_for_each_of(layout_.servers);
  const auto slots = static_cast<int>(2 * window);
  for (int server = 0; server < layout_.servers; ++server) {
    const int rank = layout_.rank_of_server(server), slot = server * slots;
    streams_.senders.emplace_back(transport_, rank, slot, window, kPushTag, layout_.units.size(),
                                  kAheadBytes);
    streams_.receivers.emplace_back(transport_, rank, slot + static_cast<int>(window), window,
                                    kPullTag);
  }
  slots_ = layout_.servers * slots;
}

std::size_t PushPullWorker::push(std::span<const UnitPayload> payloads) {
  if (idle()) {  // callers may still pull() earlier pushes
    first_push_ += left_of_.size();
    left_of_.clear();
  }
  const std::size_t push = first_push_ + left_of_.size();
  for (const auto& [unit, payload] : payloads) {
    const auto server = static_cast<std::size_t>(layout_.units.at(unit).server);
    awaited_[unit] = true;
    push_of_[unit] = push;
    if (layout_.units[unit].server == own_server_) continue;
    streams_.senders[server].add(static_cast<std::uint32_t>(unit), payload);
    streams_.receivers[server].expect(1);
  }
  left_of_.push_back(payloads.size());
  left_ += payloads.size();
  return push;
}

bool PushPullWorker::advance() {
  // A worker that is also a server sends to the next rank first, so that the workers do not all
  // send to the same rank.
  const bool sent = streams_.send(static_cast<std::size_t>(own_server_ + 1));
  return streams_.receive(*this) || sent;
}

bool PushPullWorker::pull(std::size_t push) {
  const bool moved = advance();
  // The payload sent last may have arrived while the transport still uses it.
  if (here(push) && (left_ > 0 || idle())) return true;
  rest(moved);
  return false;
}

std::span<std::byte> PushPullWorker::begin_unit(int peer, std::uint32_t unit,
                                                std::uint32_t length) {
  if (unit >= layout_.units.size() || !awaited_[unit] ||
      layout_.rank_of_server(layout_.units[unit].server) != peer)
    throw PayloadError(fmt::format(
        "server rank {} answered unit {}; expected one that was pushed to it and not pulled yet",
        peer, unit));
  const ExchangeUnit& what = layout_.units[unit];
  if (length > what.pull_capacity)
    throw PayloadError(fmt::format("server rank {}, unit '{}': {} bytes; expected at most {}", peer,
                                   what.name, length, what.pull_capacity));
  awaited_[unit] = false;
  return places_[unit].first(length);
}

void PushPullWorker::end_unit(int, std::uint32_t unit, std::span<const std::byte> payload) {
  pulled_[unit] = payload;
  if (layout_.units[unit].server != own_server_)
    streams_.senders[static_cast<std::size_t>(layout_.units[unit].server)].answered(unit);
  --left_of_[push_of_[unit] - first_push_];
  --left_;
}

}  // namespace thinpipe
