// Units whose payloads leave together: encoded, exchanged with the other ranks, decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/wire/bytes.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/rounds.h"

namespace thinpipe {

/// Sizes of one step's payloads of a bucket.
struct BucketPayload {
  std::size_t bytes = 0;         ///< of payloads, without their table of lengths
  std::size_t summed_bytes = 0;  ///< of those, what all-reduces sum
  std::size_t pulled_bytes = 0;  ///< that parameter servers answered
  std::size_t target = 0;        ///< sum of k over units; 0 where methods have none
  std::size_t selected = 0;      ///< sum of k-hat over units
};

/// s that a step's copies between a device and the host took by the device's clock, each way; 0
/// where gradients lie in the host's memory.
struct BucketCopies {
  double down = 0, up = 0;
};

/// Elements that were summed in 16 bits.
struct RoundedSum {
  std::size_t begin = 0, size = 0;  ///< of the aggregate
  ElementType type = ElementType::kFloat16;
  bool knows_order = true;  ///< what it must be is known to the bit (Pattern::knows_order)
};

/// The methods of one step, in this order: take_scales() and share_scales() where shares_scales(),
/// encode(), begin_copies(), exchange(), decode(). Those that exchange may run in another thread
/// than the rest. A bucket's part of the aggregate has its units one after the other, those that
/// all-reduces sum first.
class Bucket {
 public:
  virtual ~Bucket() = default;

  virtual std::size_t elements() const = 0;
  /// Before the first step: by what it will be exchanged.
  virtual void connect(Pattern& /*pattern*/) {}

  /// After so many exchanges what is sent and what is held back repeats itself.
  virtual std::uint64_t period() const = 0;
  /// The longest message this rank may send: what a pattern must be able to carry.
  virtual std::size_t message_capacity() const = 0;
  /// Its units in the order in which they lie.
  virtual const PlannedBucket& plan() const = 0;
  bool takes_rounds() const { return rounds() != nullptr; }
  virtual bool shares_scales() const = 0;

  /// Whether anything is sent the `exchange`-th time that gradients are handed over: delayed
  /// methods hold them back in between.
  virtual bool sends(std::uint64_t exchange) const = 0;

  /// Before a step, outside its time: brings its gradients to where they are encoded.
  virtual void load(Gradients& /*gradients*/, std::uint64_t /*index*/) {}
  /// With local steps, in every one of them: adds its gradients to the units' sums.
  virtual void add_up(Gradients& gradients, std::uint64_t index) = 0;

  virtual void take_scales(const Gradients& gradients, std::uint64_t index) = 0;
  /// Every unit's greatest scale over all ranks (TernGrad section 4.3), by one gathering of all.
  virtual void share_scales(Pattern& pattern) = 0;

  /// Encodes what is sent in that step and holds the rest back.
  virtual void encode(const Gradients& gradients, std::uint64_t index) = 0;
  /// After encode(), and after what a time scale adds to it: payloads leave for where they are
  /// exchanged.
  virtual void begin_copies() {}
  /// Instead of both, in a step whose gradient is only added to a sum of local steps.
  virtual void skip() = 0;
  virtual const BucketPayload& payload() const = 0;

  /// Payloads meet. `aggregate`: this bucket's part; valid only after decode().
  /// @throws PayloadError when a peer's payload is malformed.
  virtual RoundsTime exchange(Pattern& pattern, std::span<float> aggregate) = 0;
  /// Instead, with parameter servers: push() once, then pull() until it says that all is here.
  /// Other buckets may be pushed meanwhile.
  virtual void push(Pattern& pattern) = 0;
  virtual bool pull(Pattern& pattern) = 0;
  virtual void decode(std::span<float> aggregate) = 0;
  /// Whether that has anything to do: sums are where they belong as soon as they are exchanged.
  virtual bool decodes() const = 0;
  /// Copy times of the step just run.
  virtual BucketCopies copies() const { return {}; }
  /// s that codec work between rounds took at this machine's own speed, and by which it lasted
  /// longer than it should (pace.h), in the last exchange().
  virtual double rounds_own() const { return 0; }
  virtual double rounds_overrun() const { return 0; }

  /// Whether what was sent in the step just run is the gradients themselves: nothing was lost, and
  /// nothing need be read to know it.
  virtual bool sent_as_it_lies() const = 0;
  /// |decoded - c| and |c| of the step just run.
  virtual Distortion distortion(const Gradients& gradients, std::uint64_t index) const = 0;

  /// This rank's part of the aggregate: its own payloads decoded. `out` has elements().
  virtual void own_contribution(std::span<float> out) const = 0;
  /// Computes the aggregate after an exchange with this pattern from all ranks' contributions; 0
  /// where nobody knows the order in which it was summed.
  virtual void expected(const Pattern& pattern,
                        std::span<const std::span<const float>> contributions,
                        std::span<float> out) const = 0;
  /// The elements of its part of the aggregate that the step just run summed in 16 bits.
  virtual std::vector<RoundedSum> rounded_sums(const Pattern& pattern) const = 0;
  /// Whether that is their mean, within rounding of 32-bit floats.
  virtual bool takes_mean(const Pattern& pattern) const = 0;
  /// Whether that unit's decoded values are changes (Compressor::incremental).
  virtual bool incremental(std::size_t unit) const = 0;
  /// Checkpoint of the units' compressors, appended; between steps.
  virtual void save_state(std::vector<std::byte>& state) = 0;
  /// Takes it from the front. @throws InputError for bytes that are not of these units.
  virtual void load_state(ByteReader& state) = 0;
  /// Floats of the last step's rounds; null where the bucket takes none.
  virtual const RoundFloats* rounds() const { return nullptr; }
};

}  // namespace thinpipe
