// A worker's side of a parameter server: pushes payloads, pulls what the servers made of all of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/transport.h"
#include "workloads/exchange/unit_stream.h"

namespace thinpipe {

/// 3LC, figure 2: a worker pushes what it compressed of each unit to the server that has the unit,
/// and pulls the one payload that the server compressed for all. Units are pulled as soon as their
/// server answers them, while others are still being pushed: there is no barrier but that of a
/// unit.
class PushPullWorker final : private UnitSink {
 public:
  /// Buffers are made once. The transport must outlive this.
  PushPullWorker(Transport& transport, PushPullLayout layout);

  /// Begins to push these payloads, of different units none of which is under way. All workers push
  /// the units of a server in the same order. Payloads stay untouched until all that was pushed
  /// has been pulled. @returns a number to ask for it
  std::size_t push(std::span<const UnitPayload> payloads);
  /// Moves what can be moved both ways, whatever it is of, and where that was nothing lets others
  /// have the processor for a moment. @returns whether all of that push has been pulled
  /// @throws PayloadError naming rank and unit for an answer that cannot be one.
  bool pull(std::size_t push);
  /// The moving alone: between pushes, while there is something else to wait for.
  void progress() { rest(advance()); }

  // pull() in parts, for a rank that does something else meanwhile.
  /// Moves what can be moved both ways. @returns whether anything did @throws PayloadError as
  /// pull()
  bool advance();
  /// Where ranks are both: a limit for all that it sends together, and the bytes that have come to
  /// it.
  void share(SendBudget* budget) { streams_.share(budget); }
  std::size_t received() const { return streams_.received(); }
  /// Whether all of that push is pulled.
  bool here(std::size_t push) const {
    return push < first_push_ || left_of_[push - first_push_] == 0;
  }
  /// Whether all of all pushes is pulled and has left.
  bool idle() const;
  /// Units that are pushed and not pulled.
  std::size_t left() const { return left_; }
  /// Where servers are workers too: the answer of this rank's own, which stays where it is.
  void take_own(std::size_t unit, std::span<const std::byte> answer);
  /// Slots of the transport that it uses, from 0 on.
  int slots() const { return slots_; }

  /// The answer pulled for a unit; valid until the unit is pulled again.
  std::span<const std::byte> pulled(std::size_t unit) const { return pulled_[unit]; }

 private:
  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;
  void rest(bool moved);

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< never more of it in memory than is received
  std::vector<std::span<std::byte>> places_;
  std::vector<std::span<const std::byte>> pulled_;  ///< by unit
  std::vector<char> awaited_;                       ///< by unit
  std::vector<std::size_t> push_of_;                ///< by unit
  std::size_t first_push_ = 0;                      ///< those before have long been pulled
  std::vector<std::size_t> left_of_;                ///< by push from it: units not pulled yet
  std::size_t left_ = 0;                            ///< of all pushes
  int own_server_, slots_ = 0;                      ///< of this rank; -1: there is none
  UnitStreams streams_;                             ///< by server
};

}  // namespace thinpipe
