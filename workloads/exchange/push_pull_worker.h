// A worker's side of a parameter server: pushes payloads, pulls what the servers made of all of
// them.
#pragma once

#include <cstddef>
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

  /// Pushes these payloads, of different units, and waits until all of the units are pulled.
  /// @returns what was pulled, in the same order: a list that is valid until the next run, of
  /// payloads that are valid until their units are pulled again
  /// @throws PayloadError naming rank and unit for an answer that cannot be one.
  std::span<const std::span<const std::byte>> run(std::span<const UnitPayload> payloads);

 private:
  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< never more of it in memory than is received
  std::vector<std::span<std::byte>> places_;
  std::vector<std::span<const std::byte>> pulled_;   ///< by unit
  std::vector<std::span<const std::byte>> answers_;  ///< in the order of what was pushed
  std::vector<char> awaited_;                        ///< by unit
  std::size_t left_ = 0;                             ///< units that are awaited
  std::vector<UnitSender> senders_;
  std::vector<UnitReceiver> receivers_;
};

}  // namespace thinpipe
