// A worker's side of an exchange with parameter servers: it pushes payloads and pulls the servers'
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/collectives/exchange_units.h"
#include "workloads/collectives/transport.h"
#include "workloads/collectives/unit_stream.h"

namespace thinpipe {

/// 3LC, figure 2: a worker pushes its payload of each unit to the unit's server, and pulls the one
/// payload that the server compressed for all workers. Units are pulled as soon as their server
/// answers them, while other units are still being pushed: each unit has its own barrier.
class PushPullWorker final : private UnitSink {
 public:
  /// Allocates all buffers. The transport must outlive this.
  PushPullWorker(Transport& transport, PushPullLayout layout);

  /// Begins to push payloads, each of a different unit. No unit may have an earlier push that is
  /// still unanswered. All workers push the units of a server in the same order. The caller must
  /// not change the payloads until all pushes are pulled.
  /// @returns the push's number, for pull()
  std::size_t push(std::span<const UnitPayload> payloads);
  /// Moves the data of all pushes in both directions, and yields the CPU for a moment where no data
  /// can be moved. @returns whether all units of the push have been pulled
  /// @throws PayloadError naming rank and unit for a malformed answer
  bool pull(std::size_t push);
  /// Moves data as pull() does, between pushes, while the caller waits for its payloads.
  void progress() { rest(advance()); }

  // pull() in several calls, for a rank that does other work meanwhile.
  /// Moves data in both directions. @returns whether any data moved @throws PayloadError as pull()
  bool advance();
  // For ranks that are worker and server:
  /// Sets a limit for all bytes that the worker sends.
  void share(SendBudget* budget) { streams_.share(budget); }
  /// Returns the bytes received so far.
  std::size_t received() const { return streams_.received(); }
  /// Returns whether all units of the push are pulled.
  bool here(std::size_t push) const {
    return push < first_push_ || left_of_[push - first_push_] == 0;
  }
  /// Returns whether all pushes are pulled and have been sent.
  bool idle() const;
  /// Returns the number of units that are pushed and not pulled.
  std::size_t left() const { return left_; }
  /// Takes the answer of this rank's own server, if servers are workers too. The caller must not
  /// change the answer until the unit is pulled again.
  void take_own(std::size_t unit, std::span<const std::byte> answer);
  /// Returns how many of the transport's slots it uses, from 0 on.
  int slots() const { return slots_; }

  /// Returns the answer to a unit; valid until the unit is pulled again.
  std::span<const std::byte> pulled(std::size_t unit) const { return pulled_[unit]; }

 private:
  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;
  void rest(bool moved);

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< not initialised, so only received pages take memory
  std::vector<std::span<std::byte>> places_;
  std::vector<std::span<const std::byte>> pulled_;  ///< by unit
  std::vector<char> awaited_;                       ///< by unit
  std::vector<std::size_t> push_of_;                ///< by unit
  std::size_t first_push_ = 0;                      ///< all earlier pushes have been pulled
  std::vector<std::size_t> left_of_;                ///< by push from first_push_: units to pull
  std::size_t left_ = 0;                            ///< units to pull, of all pushes
  int own_server_, slots_ = 0;                      ///< own_server_: of this rank; -1: none
  UnitStreams streams_;                             ///< by server
};

}  // namespace thinpipe
