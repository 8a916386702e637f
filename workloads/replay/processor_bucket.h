// A bucket whose gradients lie in the host's memory and whose compressors run on the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/sparse_sums.h"

namespace thinpipe {

/// With parameter servers nothing is summed and no scale shared: a server decodes every worker's
/// payload by itself, and what it answers is decoded in place of a mean.
class ProcessorBucket : public Bucket {
 public:
  /// @param number  among the buckets, as Gradients counts them
  /// @param sparse_sums  payloads of elements with positions are not gathered, but their elements
  ///                     summed and selected again (Pattern::sparse_all_reduce)
  /// @throws InputError for specs that do not fit, or not together.
  ProcessorBucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
                  int ranks, double time_scale, bool sparse_sums);
  /// With parameter servers. @param first_unit  of this bucket, among those of replay_units()
  ProcessorBucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
                  const PushPullOptions& servers, std::size_t first_unit);
  ~ProcessorBucket() override;

  std::size_t elements() const override { return elements_; }
  std::uint64_t period() const override;
  std::size_t message_capacity() const override;
  const PlannedBucket& plan() const override { return plan_; }
  bool shares_scales() const override { return !scales_.empty(); }
  bool sends(std::uint64_t exchange) const override;

  void add_up(Gradients& gradients, std::uint64_t index) override;
  void take_scales(const Gradients& gradients, std::uint64_t index) override;
  void share_scales(Pattern& pattern) override;
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void skip() override;
  const BucketPayload& payload() const override { return payload_; }
  RoundsTime exchange(Pattern& pattern, std::span<float> aggregate) override;
  void push(Pattern& pattern) override;
  bool pull(Pattern& pattern) override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override { return !sums_ || rounds_ || summed_ < plan_.units.size(); }
  double rounds_own() const override { return pace_.own(); }
  double rounds_overrun() const override { return pace_.overrun(); }

  bool sent_as_it_lies() const override { return as_it_lies_ && summed_ == plan_.units.size(); }
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const override;
  void own_contribution(std::span<float> out) const override;
  void expected(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                std::span<float> out) const override;
  bool takes_mean(const Pattern& pattern) const override;
  bool incremental(std::size_t unit) const override;
  void save_state(std::vector<std::byte>& state) override;
  void load_state(ByteReader& state) override;
  const Rounds* rounds() const override { return rounds_.get(); }

 private:
  struct Unit;

  bool take_as_they_lie(const Gradients& gradients, std::uint64_t index);
  void encode_unit(std::size_t unit, const GradientInput& input);
  std::span<const std::byte> own_payload(std::size_t unit) const;
  std::span<float> part(std::size_t unit, std::span<float> aggregate) const;

  ProcessorBucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
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
