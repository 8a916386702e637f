// A parameter server's side: takes every worker's payloads, answers each unit with one payload for
// all.
#pragma once

#include <cstddef>
#include <functional>
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
  /// this. @param first_slot  from which on it uses the transport's
  PushPullServer(Transport& transport, PushPullLayout layout, int server, int first_slot = 0);

  /// Its units, as the layout counts them.
  const std::vector<std::size_t>& units() const { return own_; }

  /// Serves once each of these units, which are its own; without any it returns at once.
  /// @throws PayloadError naming rank and unit for a payload that no worker may send now, or that
  /// the aggregator refuses.
  void step(UnitAggregator& aggregator, std::span<const std::size_t> units);

  // The same in parts, for a rank that does something else meanwhile: begin(), await() as often as
  // there are units, advance() until idle(). All workers push the units of a server in the order of
  // await().
  /// Nothing is awaited. The aggregator is used until the next begin().
  void begin(UnitAggregator& aggregator);
  void await(std::span<const std::size_t> units);
  /// Where servers are workers too: this rank's own payload of a unit that is awaited, which stays
  /// where it is until the unit is answered.
  void take_own(std::size_t unit, std::span<const std::byte> payload);
  /// Takes what has arrived and sends what there is room for. @returns whether anything moved
  /// @throws PayloadError as step()
  bool advance();
  /// Where ranks are both: a limit for all that it sends together, and the bytes that have come to
  /// it.
  void share(SendBudget* budget) {
    for (UnitSender& sender : senders_) sender.share(budget);
  }
  std::size_t received() const {
    std::size_t bytes = 0;
    for (const UnitReceiver& receiver : receivers_) bytes += receiver.received();
    return bytes;
  }
  /// All that was awaited is answered, and all answers have left.
  bool idle() const;
  /// All that was awaited is answered.
  bool answered() const { return unanswered_ == 0; }
  /// Called with every answer as soon as it is made, for a worker of the same rank.
  std::function<void(std::size_t unit, std::span<const std::byte> answer)> on_answer;

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

  void take_answers();

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< never more of it in memory than is received
  std::vector<Unit> units_;
  std::vector<std::size_t> own_;
  int own_worker_;                   ///< of this rank; -1: there is none
  std::size_t unanswered_ = 0;       ///< units
  std::vector<UnitSender> senders_;  ///< by worker
  std::vector<UnitReceiver> receivers_;
  std::optional<UnitCodec> codec_;  ///< ends before what it works on
};

}  // namespace thinpipe
