// Units of a replayed job as parameter servers exchange them: the server of each unit, the length
// of payloads, the pieces that cross the network, and a worker's pushes and pulls in a step.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Returns the bytes of one element's code, for methods that code every element independently, one
/// code after the other. For these methods, a range of the payload is the payload of a range of the
/// tensor. Returns 0 for all other methods, including plug-ins, since they need the tensor as a
/// whole.
/// @throws InputError as check_spec
std::size_t element_bytes(const Spec& spec);

/// How a unit crosses the network: as a whole, or in pieces of a segment each. Servers answer the
/// first pieces while workers push the next ones.
struct Pieces {
  std::size_t count = 1;
  std::size_t elements = 0;    ///< of each but the last
  std::size_t push_bytes = 0;  ///< of the payload of each but the last; 0 for a single piece

  /// Returns the first element of a piece in the unit, and its first byte in the pushed payload.
  std::size_t first_element(std::size_t piece) const { return piece * elements; }
  std::size_t first_byte(std::size_t piece) const { return piece * push_bytes; }
};

/// Returns several pieces where pushes and answers are coded element by element and the unit is
/// longer than a segment; else a single piece.
Pieces pieces_of(std::size_t elements, const Spec& push, const PushPullOptions& options);

/// A unit that servers average and compress independently: the input of one compressor of a worker,
/// or a piece of it (Pieces). All ranks have the same list, in the same order.
struct ReplayUnit {
  TensorInfo tensor;       ///< a tensor, a bucket of several, or a piece: `fc1.weight[8190..16379]`
  Spec compressor;         ///< of pushes
  std::size_t offset = 0;  ///< of its first element in the aggregate
  std::size_t bucket = 0;  ///< with which it is sent
  int owner = -1;          ///< PlannedUnit::owner
};

/// Returns all units, bucket after bucket, in the order of Replay::aggregate() with servers.
std::vector<ReplayUnit> replay_units(std::span<const PlannedBucket> buckets,
                                     const PushPullOptions& options);

/// Returns the order in which workers push a bucket's units, by their index in the bucket. Units
/// whose answers are longer than their pushes come first, the smallest first. All other units
/// follow, the largest first. The first answers then begin early, and few bytes are left to pull
/// after the last push. (Johnson's rule for two machines, Naval Research Logistics Quarterly 1,
/// 1954.)
std::vector<std::size_t> push_order(std::span<const PlannedUnit> units,
                                    const PushPullOptions& options);

/// Makes the compressor that encodes a unit's answers on its server and decodes them on a worker.
/// Returns null if the answers have the same spec as the pushes, whose compressor then does both.
/// @throws InputError as make_compressor
std::unique_ptr<Compressor> make_pull_compressor(const TensorInfo& tensor, const Spec& push,
                                                 const PushPullOptions& options,
                                                 const CompressorSettings& settings);

/// Returns each unit's server and longest payloads; the same on all ranks.
PushPullLayout push_pull_layout(const std::vector<ReplayUnit>& units,
                                const PushPullOptions& options, int workers,
                                const CompressorSettings& settings);

/// Returns the values of a server's units, unit by unit; `values` are in the aggregate's order.
std::vector<float> part_of_server(const std::vector<ReplayUnit>& units,
                                  const PushPullLayout& layout, int server,
                                  std::span<const float> values);

/// Pushes a bucket's units from a worker to its parameter servers, in a fixed order, and keeps the
/// answers. A step: push() once, then pull() until it returns true.
class PushedUnits {
 public:
  /// @param plan  of the bucket; its units are in the order of the aggregate
  /// @param first_unit  the index of the bucket's first unit in replay_units()
  /// @throws InputError as make_compressor
  PushedUnits(const PlannedBucket& plan, const PushPullOptions& servers, std::size_t first_unit,
              const CompressorSettings& settings);

  /// Returns the order in which push() takes units.
  std::span<const std::size_t> order() const { return order_; }
  /// Pushes the payloads of units that are sent in this step. The caller must not change the
  /// payloads until all units are pulled.
  /// @param come  returns how many bytes of a unit's payload are ready. A piece is pushed when its
  /// bytes are ready; earlier pieces move meanwhile. Null if all payloads are ready
  void push(PushPull& servers, const std::function<bool(std::size_t unit)>& sent,
            std::span<const std::span<const std::byte>> payloads,
            const std::function<std::size_t(std::size_t unit)>& come = nullptr);
  /// Moves data. @returns whether all pushes are answered
  bool pull(PushPull& servers);

  /// Returns the pieces of the answer to a unit that was sent, in order, after pull().
  std::span<const std::span<const std::byte>> answers(std::size_t unit) const {
    return std::span(answers_).subspan(units_[unit].first_pushed, units_[unit].pieces.count);
  }
  /// Returns the bytes of all answers.
  std::size_t pulled_bytes() const;

  /// Returns the decoder of answers, on the CPU; null where the compressor of pushes decodes them.
  const Compressor* decoder(std::size_t unit) const { return units_[unit].pull.get(); }

 private:
  struct Unit {
    std::unique_ptr<Compressor> pull;
    Pieces pieces;
    std::size_t first_piece = 0;   ///< among those of replay_units()
    std::size_t first_pushed = 0;  ///< its first piece among pushed_
  };

  std::vector<Unit> units_;
  std::vector<std::size_t> order_;
  std::vector<UnitPayload> pushed_;                  ///< in this step
  std::vector<std::size_t> pushes_;                  ///< the collective's numbers of pushes
  std::size_t pulled_ = 0;                           ///< of pushes_, from the first
  std::vector<std::span<const std::byte>> answers_;  ///< to pushed_
};

}  // namespace thinpipe
