// Units whose payloads leave together: encoded, exchanged with the other ranks, decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/rounds.h"
#include "workloads/replay/sparse_sums.h"

namespace thinpipe {

/// What one step's payloads of a bucket hold.
struct BucketPayload {
  std::size_t bytes = 0;         ///< of payloads, without their table of lengths
  std::size_t summed_bytes = 0;  ///< of those, what all-reduces sum
  std::size_t pulled_bytes = 0;  ///< that parameter servers answered
  std::size_t target = 0;        ///< sum of k over units; 0 where methods have none
  std::size_t selected = 0;      ///< sum of k-hat over units
};

/// The methods of one step, in this order: take_scales() and share_scales() where shares_scales(),
/// encode(), exchange(), decode(). Those that exchange may run in another thread than the rest.
/// A bucket's part of the aggregate has its units one after the other, those that all-reduces sum
/// first. With parameter servers nothing is summed and no scale shared: a server decodes every
/// worker's payload by itself, and what it answers is decoded in place of a mean.
class Bucket {
 public:
  /// @param number  among the buckets, as Gradients counts them
  /// @param sparse_sums  payloads of elements with positions are not gathered, but their elements
  ///                     summed and selected again (Pattern::sparse_all_reduce)
  /// @throws InputError for specs that do not fit, or not together.
  Bucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
         int ranks, double time_scale, bool sparse_sums);
  /// With parameter servers. @param first_unit  of this bucket, among those of replay_units()
  Bucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
         const PushPullOptions& servers, std::size_t first_unit);
  ~Bucket();
  Bucket(Bucket&&) noexcept;

  std::size_t elements() const { return elements_; }
  /// After so many exchanges what is sent and what is held back repeats itself.
  std::uint64_t period() const;
  /// The longest message this rank may send: what a pattern must be able to carry.
  std::size_t message_capacity() const;
  const PlannedBucket& plan() const { return plan_; }
  bool takes_rounds() const { return rounds_ != nullptr; }
  bool shares_scales() const { return !scales_.empty(); }

  /// Whether anything is sent the `exchange`-th time that gradients are handed over: delayed
  /// methods hold them back in between.
  bool sends(std::uint64_t exchange) const;

  void take_scales(const Gradients& gradients, std::uint64_t index);
  /// Every unit's greatest scale over all ranks (TernGrad section 4.3), by one gathering of all.
  void share_scales(Pattern& pattern);

  /// Encodes what is sent in that step and holds the rest back.
  void encode(const Gradients& gradients, std::uint64_t index);
  /// Instead of encode(), in a step whose gradient is only added to a sum of local steps.
  void skip();
  const BucketPayload& payload() const { return payload_; }

  /// Payloads meet. `aggregate`: this bucket's part; valid only after decode().
  /// @throws PayloadError when a peer's payload is malformed.
  RoundsTime exchange(Pattern& pattern, std::span<float> aggregate);
  /// Instead, with parameter servers: push() once, then pull() until it says that all is here.
  /// Other buckets may be pushed meanwhile.
  void push(Pattern& pattern);
  bool pull(Pattern& pattern);
  void decode(std::span<float> aggregate);
  /// Whether that has anything to do: sums are where they belong as soon as they are exchanged.
  bool decodes() const { return !sums_ || rounds_ || summed_ < plan_.units.size(); }
  /// s that codec work between rounds took at this machine's own speed, and by which it lasted
  /// longer than it should (pace.h), in the last exchange().
  double rounds_own() const { return pace_.own(); }
  double rounds_overrun() const { return pace_.overrun(); }

  /// Whether what was sent in the step just run is the gradients themselves, in place: nothing was
  /// lost, and nothing need be read to know it.
  bool sent_as_it_lies() const { return as_it_lies_ && summed_ == plan_.units.size(); }
  /// |decoded - c| and |c| of the step just run.
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const;

  /// This rank's part of the aggregate: its own payloads decoded. `out` has elements().
  void own_contribution(std::span<float> out) const;
  /// What the aggregate must be after an exchange with this pattern, from all ranks' contributions.
  void expected(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                std::span<float> out) const;
  /// Whether that is their mean, within rounding.
  bool takes_mean(const Pattern& pattern) const;
  /// Whether that unit's decoded values are changes (Compressor::incremental).
  bool incremental(std::size_t unit) const;
  /// Checkpoint of the units' compressors, appended; between steps.
  void save_state(std::vector<std::byte>& state);
  /// Takes it from the front. @throws InputError for bytes that are not of these units.
  void load_state(ByteReader& state);
  /// Of the rounds of the last step; null where the bucket takes none.
  const Rounds* rounds() const { return rounds_.get(); }

 private:
  struct Unit;

  bool take_as_they_lie(const Gradients& gradients, std::uint64_t index);
  void encode_unit(std::size_t unit, const GradientInput& input);
  std::span<const std::byte> own_payload(std::size_t unit) const;
  std::span<float> part(std::size_t unit, std::span<float> aggregate) const;

  Bucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
         int ranks, double time_scale, bool sparse_sums, const PushPullOptions* servers,
         std::size_t first_unit);
  std::span<const std::byte> answer_to(const Unit& unit);
  void decode_answers(std::span<float> aggregate);

  PlannedBucket plan_;
  std::size_t number_;
  int ranks_;
  bool has_servers_;
  std::vector<std::size_t> push_order_;              ///< of units_, where it has
  std::vector<UnitPayload> pushed_;                  ///< in this step
  std::size_t push_ = 0;                             ///< the pattern's number for these
  std::vector<std::span<const std::byte>> answers_;  ///< to these
  std::vector<std::byte> joined_;                    ///< answers to a unit's pieces
  std::size_t elements_ = 0;
  std::vector<Unit> units_;
  std::size_t summed_ = 0;  ///< the first so many units are all-reduced
  std::size_t summed_elements_ = 0;
  std::uint64_t summed_period_ = 1;
  bool sums_ = false, gathers_ = false;  ///< in this step
  std::span<const std::byte> floats_;    ///< what is all-reduced: gradients, or in encoded_
  std::vector<std::byte> encoded_;
  bool verbatim_ = false;           ///< summed units would only be copied
  bool as_it_lies_ = false;         ///< and were not even, in this step
  std::vector<std::byte> message_;  ///< lengths, then payloads: what is gathered
  std::size_t message_size_ = 0;
  std::unique_ptr<Rounds> rounds_;      ///< where summed units take several, instead of encoded_
  std::unique_ptr<SparseSums> sparse_;  ///< of the other units, where they are not gathered
  std::vector<float> scales_;           ///< by gathered unit, where workers share them; else empty
  BucketPayload payload_;
  Pace pace_;  ///< of codec work between rounds
  const std::vector<std::span<const std::byte>>* arrived_ = nullptr;
  mutable std::vector<std::span<const std::byte>> payloads_;  ///< by gathered unit
};

}  // namespace thinpipe
