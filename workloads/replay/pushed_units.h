// A bucket's units between a worker and its parameter servers: what is pushed, in which order, and
// what comes back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/pieces.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

/// A step: push() once, then pull() until all is here.
class PushedUnits {
 public:
  /// @param plan  of the bucket, which must outlive this; its units in the order in which they lie
  /// @param first_unit  of this bucket, among those of replay_units()
  /// @throws InputError as make_compressor
  PushedUnits(const PlannedBucket& plan, const PushPullOptions& servers, std::size_t first_unit,
              const CompressorSettings& settings);

  /// In which push() takes units.
  std::span<const std::size_t> order() const { return order_; }
  /// Of those units that are sent in this step their payloads, which stay until all is pulled.
  /// @param come  how many bytes of a unit's payload are there: each piece is pushed as soon as it
  /// is, and what is under way already moves meanwhile; null: all are
  void push(Pattern& pattern, const std::function<bool(std::size_t unit)>& sent,
            std::span<const std::span<const std::byte>> payloads,
            const std::function<std::size_t(std::size_t unit)>& come = nullptr);
  /// @returns whether all that was pushed is answered
  bool pull(Pattern& pattern);

  /// Then: of a unit that was sent, the pieces of its answer, in order.
  std::span<const std::span<const std::byte>> answers(std::size_t unit) const {
    return std::span(answers_).subspan(units_[unit].first_pushed, units_[unit].pieces.count);
  }
  /// Bytes of all of them.
  std::size_t pulled_bytes() const;

  /// Decodes answers, on the processor; null where the compressor of what is pushed does.
  const Compressor* decoder(std::size_t unit) const { return units_[unit].pull.get(); }

 private:
  struct Unit {
    std::unique_ptr<Compressor> pull;
    Pieces pieces;
    std::size_t first_piece = 0;   ///< among those of replay_units()
    std::size_t first_pushed = 0;  ///< of these, among what was pushed
  };

  std::vector<Unit> units_;
  std::vector<std::size_t> order_;
  std::vector<UnitPayload> pushed_;                  ///< in this step
  std::vector<std::size_t> pushes_;                  ///< the pattern's numbers for these
  std::size_t pulled_ = 0;                           ///< of pushes_, from the first
  std::vector<std::span<const std::byte>> answers_;  ///< to these
};

/// What pieces are together: as they lie where they lie one after the other, else in `room`.
std::span<const std::byte> joined_pieces(std::span<const std::span<const std::byte>> pieces,
                                         std::vector<std::byte>& room);

}  // namespace thinpipe
