// A parameter server's side: takes every worker's payloads, answers each unit with one payload for
// all.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/transport.h"
#include "workloads/exchange/unit_codec.h"
#include "workloads/exchange/unit_stream.h"

namespace thinpipe {

/// Barriers are fine-grained (3LC, section 2.1): a unit is answered as soon as all workers'
/// payloads of it are in, while others are still coming.
class PushPullServer final : private UnitSink {
 public:
  /// Buffers are made once. The transport, of rank layout.rank_of_server(server), must outlive
  /// this.
  PushPullServer(Transport& transport, PushPullLayout layout, int server);

  /// Its units, as the layout counts them.
  const std::vector<std::size_t>& units() const { return own_; }

  /// Serves once each of these units, which are its own; without any it returns at once.
  /// @throws PayloadError naming rank and unit for a payload that no worker may send now, or that
  /// the aggregator refuses.
  void step(UnitAggregator& aggregator, std::span<const std::size_t> units);
  /// Of one of the units that the last step served.
  const ServedUnit& served(std::size_t unit) const { return units_[unit].served; }

 private:
  /// Of one unit in the step under way.
  struct Unit {
    bool awaited = false;
    int added = 0;  ///< workers handed over
    int here = 0;   ///< workers whose payload has arrived
    ServedUnit served;
    std::vector<std::span<std::byte>> places;          ///< by worker
    std::vector<char> begun;                           ///< by worker
    std::vector<std::span<const std::byte>> payloads;  ///< by worker, once `arrived`
    std::vector<char> arrived;
  };

  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;

  void exchange();
  void take_answers();

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< never more of it in memory than is received
  std::vector<Unit> units_;
  std::vector<std::size_t> own_;
  std::size_t unanswered_ = 0;       ///< units
  std::vector<UnitSender> senders_;  ///< by worker
  std::vector<UnitReceiver> receivers_;
  std::optional<UnitCodec> codec_;  ///< ends before what it works on
};

}  // namespace thinpipe
