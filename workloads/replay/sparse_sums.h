// Units of a bucket whose elements are summed as pairs and selected again, instead of having their
// payloads gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/exchange/pattern.h"

namespace thinpipe {

/// Units lie one after the other in one long sparse vector. A step: begin(); add() the payload of
/// every unit that is sent, in order; exchange(); decode().
class SparseSums {
 public:
  /// Puts values back into a unit's memory (Compressor::give_back). The positions are in use until
  /// it returns, the values until the next exchange.
  using GiveBack = std::function<void(std::size_t unit, std::span<const std::uint32_t> positions,
                                      std::span<const float> values)>;

  /// The compressors must stay where they are. @throws InputError for too many elements.
  explicit SparseSums(const std::vector<Compressor*>& compressors);
  /// For memories that lie elsewhere. Where a compressor takes nothing back, nothing is given.
  SparseSums(const std::vector<const Compressor*>& compressors, GiveBack give_back);

  std::size_t elements() const { return elements_; }

  /// Puts back into memories what the last exchange dropped. It waits for the next step so that
  /// Compressor::distortion() can be asked in between.
  void begin();
  /// Puts that back at once: before a checkpoint.
  void give_back();
  /// There is nothing to be put back: after one was restored.
  void forget() { returned_ = true; }
  /// Takes the pairs of a unit's payload; k is its target. For units without one, on all ranks the
  /// same, as many are selected as ranks bring on average (Pattern::mean_count). @returns bytes
  /// that the pairs take
  std::size_t add(std::size_t unit, std::span<const std::byte> payload,
                  std::optional<std::size_t> k);
  /// Sums and selects with the other ranks.
  void exchange(Pattern& pattern, float factor);
  /// Result of the last exchange, until the next one.
  const SparseView& sum() const { return sum_.sum; }
  /// sum = what came of it, 0 elsewhere; elements() of them.
  void decode(std::span<float> sum) const;

  /// Computes the result of the last exchange from every rank's vector in full.
  void expected(const Pattern& pattern, std::span<const std::span<const float>> vectors,
                float factor, std::span<float> out) const;

 private:
  struct Unit {
    const Compressor* compressor;
    std::size_t offset;  // of its first element
  };

  std::vector<Unit> units_;
  GiveBack give_back_;
  std::size_t elements_ = 0;
  std::vector<std::uint32_t> indices_;  ///< of own pairs, then room
  std::vector<float> values_;
  std::size_t count_ = 0;
  std::size_t k_ = 0;                          ///< of all units that are sent
  std::optional<std::size_t> without_target_;  ///< own pairs of units without; if there are any
  SparseSum sum_;                              ///< of the last exchange
  bool returned_ = true;
  std::vector<std::uint32_t> positions_;  ///< within a unit
};

}  // namespace thinpipe
