#include "workloads/exchange/push_pull_worker.h"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/exchange/push_pull_tags.h"

namespace thinpipe {

PushPullWorker::PushPullWorker(Transport& transport, PushPullLayout layout)
    : transport_(transport),
      layout_(std::move(layout)),
      pulled_(layout_.units.size()),
      awaited_(layout_.units.size()) {
  answers_.reserve(layout_.units.size());
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
    senders_.emplace_back(transport_, rank, slot, window, kPushTag, layout_.units.size());
    receivers_.emplace_back(transport_, rank, slot + static_cast<int>(window), window, kPullTag);
  }
}

std::span<const std::span<const std::byte>> PushPullWorker::run(
    std::span<const UnitPayload> payloads) {
  left_ = payloads.size();
  for (const auto& [unit, payload] : payloads) {
    const auto server = static_cast<std::size_t>(layout_.units.at(unit).server);
    awaited_[unit] = true;
    senders_[server].add(static_cast<std::uint32_t>(unit), payload);
    receivers_[server].expect(1);
  }
  for (bool sending = true; sending || left_ > 0;) {
    bool moved = false;
    sending = false;
    for (UnitSender& sender : senders_) {
      moved = sender.advance() || moved;
      sending = sending || !sender.idle();
    }
    for (UnitReceiver& receiver : receivers_) moved = receiver.advance(*this) || moved;
    if (moved)
      transport_.progressed();
    else if (sending || left_ > 0)
      transport_.pause();
  }
  answers_.clear();
  for (const UnitPayload& pushed : payloads) answers_.push_back(pulled_[pushed.unit]);
  return answers_;
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
  --left_;
}

}  // namespace thinpipe
