#include "workloads/exchange/push_pull_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/exchange/push_pull_tags.h"

namespace thinpipe {

namespace {

// Units with so many elements are decoded and compressed in a thread beside: from there on that
// takes as long as it takes a segment of 32 kB to come in at 1 Gbit/s, 0.26 ms.
constexpr std::size_t kBesideElements = 1 << 18;

}  // namespace

PushPullServer::PushPullServer(Transport& transport, PushPullLayout layout, int server)
    : transport_(transport), layout_(std::move(layout)), units_(layout_.units.size()) {
  const auto workers = static_cast<std::size_t>(layout_.workers);
  std::size_t bytes = 0, most_elements = 0;
  for (const ExchangeUnit& unit : layout_.units) {
    if (unit.server != server) continue;
    bytes += workers * unit.push_capacity;
    most_elements = std::max(most_elements, unit.elements);
  }
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
  codec_.emplace(layout_.units, most_elements >= kBesideElements, own_.size() * workers);
  const std::size_t window = segments_for_each_of(layout_.workers);
  const auto slots = static_cast<int>(2 * window);
  for (int worker = 0; worker < layout_.workers; ++worker) {
    const int slot = worker * slots;
    senders_.emplace_back(transport_, worker, slot, window, kPullTag, own_.size());
    receivers_.emplace_back(transport_, worker, slot + static_cast<int>(window), window, kPushTag);
  }
}

void PushPullServer::step(UnitAggregator& aggregator, std::span<const std::size_t> units) {
  codec_->begin(aggregator);
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
  try {
    exchange();
  } catch (...) {
    codec_->drop();
    throw;
  }
}

void PushPullServer::exchange() {
  for (bool sending = unanswered_ > 0; sending || unanswered_ > 0;) {
    bool moved = false;
    sending = false;
    for (UnitReceiver& receiver : receivers_) moved = receiver.advance(*this) || moved;
    take_answers();
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
        fmt::format("rank {} pushed unit {}; expected those of this server's {} units that take "
                    "part in the step, each once",
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
  const auto worker = static_cast<std::size_t>(peer);
  unit.payloads[worker] = payload;
  unit.arrived[worker] = true;
  // As far as the workers' order allows, so that less is left to do when the last one comes.
  for (; unit.added < layout_.workers; ++unit.added) {
    const auto next = static_cast<std::size_t>(unit.added);
    if (!unit.arrived[next]) return;
    codec_->add(index, unit.added, unit.payloads[next], unit.added + 1 == layout_.workers, peer);
  }
}

void PushPullServer::take_answers() {
  for (UnitAnswer answer; codec_->take(answer); --unanswered_) {
    units_[answer.unit].served = answer.served;
    for (UnitSender& sender : senders_) sender.add(answer.unit, answer.payload);
  }
}

}  // namespace thinpipe
