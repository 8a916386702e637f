// Units of a replayed job as parameter servers exchange them: who has which, how long payloads are,
// in which pieces they cross the network, and what a worker pushes and pulls in a step.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Bytes of each element's code where a method codes every element by itself, whatever the others
/// are, one code after the other: a part of a payload is then the payload of a part of the tensor.
/// 0 for all other methods, plug-ins among them: they need the tensor as a whole.
/// @throws InputError as check_spec
std::size_t element_bytes(const Spec& spec);

/// How a unit crosses the network: as a whole, or in pieces of a segment each, of which servers
/// answer the first while workers push the next.
struct Pieces {
  std::size_t count = 1;
  std::size_t elements = 0;    ///< of each but the last
  std::size_t push_bytes = 0;  ///< of the payload of each but the last; 0 where there is but one

  /// Where a piece begins in the unit, in elements and in bytes of what is pushed.
  std::size_t first_element(std::size_t piece) const { return piece * elements; }
  std::size_t first_byte(std::size_t piece) const { return piece * push_bytes; }
};

/// Pieces where what is pushed and what is pulled are coded element by element, and there are
/// elements for more than one of them.
Pieces pieces_of(std::size_t elements, const Spec& push, const PushPullOptions& options);

/// A unit that servers average and compress by itself: the input of one compressor of a worker, or
/// a piece of it (Pieces). The same list on all ranks, in the same order.
struct ReplayUnit {
  TensorInfo tensor;       ///< a tensor, a bucket of several, or a piece: `fc1.weight[8190..16379]`
  Spec compressor;         ///< of what is pushed
  std::size_t offset = 0;  ///< of its first element in the aggregate
  std::size_t bucket = 0;  ///< which it leaves with
  int owner = -1;          ///< PlannedUnit::owner
};

/// All units, bucket after bucket, as they lie in Replay::aggregate() where there are servers.
std::vector<ReplayUnit> replay_units(std::span<const PlannedBucket> buckets,
                                     const PushPullOptions& options);

/// The order in which workers push a bucket's units, by their number in it. Those of which servers
/// answer no more than is pushed leave the largest first, others the smallest first: what is left
/// to be pulled when all is pushed, and to be pushed before anything is pulled, is then little.
/// (Johnson's rule for two machines, Naval Research Logistics Quarterly 1, 1954.)
std::vector<std::size_t> push_order(std::span<const PlannedUnit> units,
                                    const PushPullOptions& options);

/// Compresses a unit's answers, on its server; decodes them on a worker. Null where the compressor
/// of what is pushed can do that. @throws InputError as make_compressor
std::unique_ptr<Compressor> make_pull_compressor(const TensorInfo& tensor, const Spec& push,
                                                 const PushPullOptions& options,
                                                 const CompressorSettings& settings);

/// Each unit's server and longest payloads; the same on all ranks.
PushPullLayout push_pull_layout(const std::vector<ReplayUnit>& units,
                                const PushPullOptions& options, int workers,
                                const CompressorSettings& settings);

/// Returns the values of a server's units, unit by unit; `values` lie as the aggregate does.
std::vector<float> part_of_server(const std::vector<ReplayUnit>& units,
                                  const PushPullLayout& layout, int server,
                                  std::span<const float> values);

/// A bucket's units between a worker and its parameter servers: what is pushed, in which order, and
/// what comes back. A step: push() once, then pull() until all is here.
class PushedUnits {
 public:
  /// @param plan  of the bucket, which must outlive this; its units in the order in which they lie
  /// @param first_unit  of this bucket, among those of replay_units()
  /// @throws InputError as make_compressor
  PushedUnits(const PlannedBucket& plan, const PushPullOptions& servers, std::size_t first_unit,
              const CompressorSettings& settings);

  /// In which push() takes units.
  std::span<const std::size_t> order() const { return order_; }
  /// Pushes the payloads of units that are sent in this step; they stay until all is pulled.
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

/// Returns the pieces together: in place where they lie one after the other, else in `room`.
std::span<const std::byte> joined_pieces(std::span<const std::span<const std::byte>> pieces,
                                         std::vector<std::byte>& room);

}  // namespace thinpipe
