// Units whose payloads leave together: encoded, exchanged with the other ranks, decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/sums.h"

namespace thinpipe {

/// Settings of all buckets of a rank.
struct BucketSettings {
  CompressorSettings compressors;
  int ranks = 1;                  ///< that exchange
  double time_scale = 1;          ///< for codec work between exchanges and for a device's copies
  std::uint64_t local_steps = 1;  ///< gradients that are accumulated before they are sent
  /// Elements with positions are summed and selected again (SparseAllReduce), not all-gathered.
  bool sparse_sums = false;
  std::optional<PushPullOptions> servers = {};  ///< payloads go to servers, not to all ranks
};

/// Sizes of one step's payloads of a bucket.
struct BucketPayload {
  std::size_t bytes = 0;         ///< of payloads, without their table of lengths
  std::size_t summed_bytes = 0;  ///< the bytes among them that all-reduces sum
  std::size_t pulled_bytes = 0;  ///< of the parameter servers' answers
  std::size_t target = 0;        ///< sum of k over units; 0 where methods have none
  std::size_t selected = 0;      ///< sum of k-hat over units
};

/// Durations of a step's copies to the host (`down`) and to the device (`up`) by the device's
/// clock, in seconds; 0 where gradients are in the host's memory.
struct BucketCopies {
  double down = 0, up = 0;

  BucketCopies& operator+=(const BucketCopies& more) {
    down += more.down;
    up += more.up;
    return *this;
  }
};

/// Elements that were summed in 16 bits.
struct RoundedSum {
  std::size_t begin = 0, size = 0;  ///< of the aggregate
  ElementType type = ElementType::kFloat16;
  bool knows_order = true;  ///< the sum is known to the bit (AllReduce::knows_order)
};

/// A step makes these calls, in this order: take_scales() and share_scales() if shares_scales() is
/// true, encode(), begin_copies(), start_exchange(), poll_exchange() until it returns true,
/// decode(). The exchange may run in another thread than the other calls.
///
/// A bucket's range of the aggregate has its units one after the other. Units that all-reduces sum
/// come first, 32-bit floats before 16-bit ones; units whose payloads are all-gathered follow. With
/// parameter servers nothing is summed and no scale is shared: a server decodes each worker's
/// payload separately, and its answer is decoded in place of a mean.
class Bucket {
 public:
  virtual ~Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  std::size_t elements() const { return elements_; }
  /// Returns the bucket's units in the order of the aggregate.
  const PlannedBucket& plan() const { return plan_; }
  /// Returns the number of exchanges after which the schedule of sent and accumulated units repeats
  /// itself.
  std::uint64_t period() const;
  /// Returns the size of the longest message that this rank may send, in bytes: the capacity that
  /// the collective needs.
  virtual std::size_t message_capacity() const = 0;
  /// Sets the collective that exchanges the bucket, before the first step. The collective must
  /// outlive this.
  virtual void connect(Collective& collective) {
    collective_ = &collective;
    push_pull_ = dynamic_cast<PushPull*>(&collective);
  }

  // A step.

  /// Returns whether the bucket sends any unit the `exchange`-th time that gradients are handed
  /// over. Units of delayed methods accumulate several gradients before they are sent.
  bool sends(std::uint64_t exchange) const;
  /// Copies a step's gradients to the memory where they are encoded. Called before the step,
  /// outside its time.
  virtual void load(Gradients& /*gradients*/, std::uint64_t /*index*/) {}
  /// Adds a step's gradients to the units' sums. Called in every step, with local steps only.
  virtual void add_up(Gradients& gradients, std::uint64_t index) = 0;

  bool shares_scales() const { return !scales_.empty(); }
  virtual void take_scales(const Gradients& gradients, std::uint64_t index) = 0;
  /// Sets every unit's scale to the greatest over all ranks (TernGrad section 4.3), by one
  /// all-gather. @throws PayloadError for a malformed message or a negative or non-finite scale
  void share_scales();

  /// Encodes the units that are sent in that step and accumulates the others.
  virtual void encode(const Gradients& gradients, std::uint64_t index) = 0;
  /// Starts copying the payloads to the memory that the collective sends from. Called after
  /// encode(), and after the extra time by which a time scale prolongs encode().
  virtual void begin_copies() {}
  /// Replaces encode() and begin_copies() in a step that only accumulates (local steps).
  virtual void skip() = 0;
  const BucketPayload& payload() const { return payload_; }

  /// Exchanges payloads with the other ranks. With parameter servers it only pushes the payloads,
  /// and other buckets may be pushed before poll_exchange() has returned true.
  /// @param aggregate  this bucket's range; valid only after decode()
  /// @throws PayloadError when a peer's payload is malformed.
  void start_exchange(std::span<float> aggregate);
  /// Moves data. @returns whether the exchange has ended
  bool poll_exchange();
  /// Returns the durations of the last exchange, without the exchange of scales.
  const ExchangeTime& exchange_time() const { return time_; }
  virtual void decode(std::span<float> aggregate) = 0;
  /// Returns false where decode() has nothing to do: the collective leaves sums in the aggregate.
  virtual bool decodes() const = 0;
  /// Returns the durations of the last step's copies.
  virtual BucketCopies copies() const { return {}; }

  // After a step, for checks that do not cross the network.

  /// Returns whether the last step sent all gradients unchanged, so that nothing was lost.
  virtual bool sent_as_it_lies() const = 0;
  /// Returns |decoded - c| and |c| of the last step.
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const;
  /// Writes this rank's contribution to the aggregate: its own payloads, decoded. `out` has
  /// elements().
  void own_contribution(std::span<float> out) const;
  /// Computes the expected aggregate from all ranks' contributions. Elements whose sum depends on
  /// an unknown order of additions (sums in 16 bits) become 0.
  void expected(std::span<const std::span<const float>> contributions, std::span<float> out) const;
  /// Computes the mean of one round (rounds()) from the floats that all ranks sent in it.
  void expected_round(std::span<const std::span<const float>> sent, std::span<float> mean) const;
  /// Returns whether the aggregate is the mean of contributions, within rounding of 32-bit floats.
  bool takes_mean() const;
  /// Returns the elements of the bucket's range that the last step summed in 16 bits.
  std::vector<RoundedSum> rounded_sums() const;
  /// Returns the floats of the last step's rounds; null where the bucket takes no rounds.
  virtual const RoundFloats* rounds() const = 0;
  /// Returns whether that unit's decoded values are changes (Compressor::incremental).
  bool incremental(std::size_t unit) const;

  // Checkpoints, between steps.

  /// Appends the state of the units' compressors.
  virtual void save_state(std::vector<std::byte>& state) = 0;
  /// Reads that state from the front. @throws InputError for the state of other units
  virtual void load_state(ByteReader& state) = 0;

 protected:
  /// @param number  among the buckets, as Gradients counts them
  Bucket(const PlannedBucket& plan, std::size_t number, const BucketSettings& settings);

  /// Exchanges payloads with the other ranks, without servers. Adds codec times to time_.
  virtual void exchange(std::span<float> aggregate) = 0;
  /// Pushes payloads to servers, after split_own().
  virtual void push(PushPull& servers) = 0;
  /// Moves data. @returns whether all that was pushed is answered
  virtual bool pull(PushPull& servers) = 0;
  /// Returns the unit's CPU compressor.
  virtual const Compressor& compressor(std::size_t unit) const = 0;
  /// Returns whether the unit was sent in the last step.
  virtual bool sent(std::size_t unit) const = 0;
  /// Returns this rank's message, in a step that all-gathers any payload.
  virtual std::span<const std::byte> own_message() const = 0;
  /// Returns this rank's payload of a unit that is summed without rounds.
  virtual std::span<const std::byte> own_summed(std::size_t unit) const = 0;
  /// Returns the sums of elements that are selected again; null where payloads are all-gathered.
  virtual const SparseSums* sparse_sums() const = 0;
  /// Returns the units that are pushed to servers and pulled from them; null without servers.
  virtual const PushedUnits* pushed_units() const = 0;
  virtual Distortion unit_distortion(std::size_t unit, const Gradients& gradients,
                                     std::uint64_t index) const;

  Collective& collective() const { return *collective_; }
  std::size_t units() const { return plan_.units.size(); }
  /// Returns the factor from a sum over ranks to the mean.
  float factor() const { return 1.0F / static_cast<float>(ranks_); }
  bool sends_unit(std::size_t unit, std::uint64_t exchange) const {
    return (exchange + 1) % compressor(unit).period() == 0;
  }
  /// Checks delays. @throws InputError when units of one all-reduce are sent in different steps
  void check_delays() const;
  /// Checks that all-gathered payloads are pairs, for a sparse all-reduce. @throws InputError
  void check_pairs() const;
  /// Allocates scales where any of the all-gathered units shares its own.
  void make_scales();
  /// Forgets the payloads of the previous step.
  void begin_payload() {
    payload_ = {};
    sums_ = gathers_ = false;
  }
  /// Adds the floats that the last exchange sent in rounds to payload().
  void add_rounds_to_payload();
  /// Adds a unit's payload to payload().
  /// @param bytes  that are sent of the unit @param summed  whether an all-reduce sums these bytes
  void add_to_payload(std::size_t unit, const EncodeReport& report, std::size_t bytes, bool summed);
  /// Splits this rank's message. Called before own_payload() of units that were sent.
  void split_own() const;
  std::span<const std::byte> own_payload(std::size_t unit) const;
  std::span<float> part(std::size_t unit, std::span<float> all) const {
    return all.subspan(offsets_[unit], plan_.units[unit].info.elements);
  }

  PlannedBucket plan_;
  std::size_t number_;                ///< among the buckets, as Gradients counts them
  int ranks_;                         ///< over which a mean is taken; 1 with parameter servers
  std::vector<std::size_t> offsets_;  ///< of units in the bucket's range
  std::size_t elements_ = 0;
  std::size_t summed_ = 0;               ///< the first so many units are all-reduced
  std::size_t summed_elements_ = 0;      ///< of the all-reduced units
  std::size_t float_units_ = 0;          ///< the first so many are all-reduced in 32 bits
  std::size_t float_elements_ = 0;       ///< of units that are all-reduced in 32 bits
  std::vector<SumGroup> half_groups_;    ///< units that are all-reduced in 16 bits
  bool sums_ = false, gathers_ = false;  ///< in this step
  std::vector<float> scales_;  ///< by all-gathered unit, where ranks share them; else empty
  BucketPayload payload_;
  ExchangeTime time_;
  mutable std::vector<std::span<const std::byte>> split_;  ///< a message, by all-gathered unit

 private:
  void add_to_groups(std::size_t unit);
  void expected_floats(std::span<const std::span<const float>> contributions,
                       std::span<float> out) const;
  void expected_half_sums(std::span<const std::span<const float>> contributions,
                          std::span<float> out) const;

  Collective* collective_ = nullptr;
  PushPull* push_pull_ = nullptr;  ///< the same, if it has servers; poll_exchange() is a busy loop
  double began_ = 0;               ///< when the last exchange did
};

}  // namespace thinpipe
