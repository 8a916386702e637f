#include "workloads/exchange/push_pull_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/exchange/push_pull_tags.h"

namespace thinpipe {

PushPullServer::PushPullServer(Transport& transport, PushPullLayout layout, int server)
    : transport_(transport), layout_(std::move(layout)), units_(layout_.units.size()) {
  const auto workers = static_cast<std::size_t>(layout_.workers);
  std::size_t bytes = 0;
  for (const ExchangeUnit& unit : layout_.units)
    if (unit.server == server) bytes += workers * unit.push_capacity;
  arena_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::size_t at = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const ExchangeUnit& what = layout_.units[i];
    if (what.server != server) continue;
    Unit& unit = units_[i];
    for (std::size_t worker = 0; worker < workers; ++worker, at += what.push_capacity)
      unit.places.emplace_back(arena_.get() + at, what.push_capacity);
    unit.begun.resize(workers);
    unit.payloads.resize(workers);
    unit.arrived.resize(workers);
    own_.push_back(i);
  }
  const std::size_t window = segments_for_each_of(layout_.workers);
  const auto slots = static_cast<int>(2 * window);
  for (int worker = 0; worker < layout_.workers; ++worker) {
    const int slot = worker * slots;
    senders_.emplace_back(transport_, worker, slot, window, kPullTag, own_.size());
    receivers_.emplace_back(transport_, worker, slot + static_cast<int>(window), window, kPushTag);
  }
}

void PushPullServer::step(UnitAggregator& aggregator, std::span<const std::size_t> units) {
  aggregator_ = &aggregator;
  for (Unit& unit : units_) unit.awaited = false;
  for (const std::size_t index : units) {
    Unit& unit = units_[index];
    unit.awaited = true;
    unit.added = 0;
    std::fill(unit.begun.begin(), unit.begun.end(), false);
    std::fill(unit.arrived.begin(), unit.arrived.end(), false);
  }
  unanswered_ = units.size();
  for (UnitReceiver& receiver : receivers_) receiver.expect(units.size());
  for (bool sending = !units.empty(); sending || unanswered_ > 0;) {
    bool moved = false;
    sending = false;
    for (UnitReceiver& receiver : receivers_) moved = receiver.advance(*this) || moved;
    for (UnitSender& sender : senders_) {
      moved = sender.advance() || moved;
      sending = sending || !sender.idle();
    }
    if (moved)
      transport_.progressed();
    else if (sending || unanswered_ > 0)
      transport_.pause();
  }
}

std::span<std::byte> PushPullServer::begin_unit(int peer, std::uint32_t unit,
                                                std::uint32_t length) {
  const auto worker = static_cast<std::size_t>(peer);
  if (unit >= units_.size() || !units_[unit].awaited || units_[unit].begun[worker])
    throw PayloadError(
        fmt::format("rank {} pushed unit {}; expected those of this server's {} units that take"
                    " part in the step, each once",
                    peer, unit, own_.size()));
  const ExchangeUnit& what = layout_.units[unit];
  if (length > what.push_capacity)
    throw PayloadError(fmt::format("rank {}, unit '{}': {} bytes; expected at most {}", peer,
                                   what.name, length, what.push_capacity));
  units_[unit].begun[worker] = true;
  return units_[unit].places[worker].first(length);
}

void PushPullServer::end_unit(int peer, std::uint32_t index, std::span<const std::byte> payload) {
  Unit& unit = units_[index];
  unit.payloads[static_cast<std::size_t>(peer)] = payload;
  unit.arrived[static_cast<std::size_t>(peer)] = true;
  // As far as the workers' order allows, so that less is left to do when the last one comes.
  for (; unit.added < layout_.workers && unit.arrived[static_cast<std::size_t>(unit.added)];
       ++unit.added) {
    try {
      aggregator_->add(index, unit.added, unit.payloads[static_cast<std::size_t>(unit.added)]);
    } catch (const PayloadError& error) {
      throw PayloadError(fmt::format("payload of rank {}, unit '{}': {}", unit.added,
                                     layout_.units[index].name, error.what()));
    }
  }
  if (unit.added < layout_.workers) return;
  const std::span<const std::byte> answer = aggregator_->answer(index);
  for (UnitSender& sender : senders_) sender.add(index, answer);
  --unanswered_;
}

}  // namespace thinpipe
