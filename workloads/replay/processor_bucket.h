// A bucket whose gradients lie in the host's memory and whose compressors run on the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/sparse_sums.h"
#include "workloads/replay/unit_bucket.h"

namespace thinpipe {

/// With parameter servers nothing is summed and no scale shared: a server decodes every worker's
/// payload by itself, and what it answers is decoded in place of a mean.
class ProcessorBucket : public UnitBucket {
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

  std::size_t message_capacity() const override;

  void add_up(Gradients& gradients, std::uint64_t index) override;
  void take_scales(const Gradients& gradients, std::uint64_t index) override;
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void skip() override;
  RoundsTime exchange(Pattern& pattern, std::span<float> aggregate) override;
  void push(Pattern& pattern) override;
  bool pull(Pattern& pattern) override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override { return !sums_ || rounds_ || float_units_ < units(); }
  double rounds_own() const override { return pace_.own(); }
  double rounds_overrun() const override { return pace_.overrun(); }

  bool sent_as_it_lies() const override { return as_it_lies_ && float_units_ == units(); }
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const override;
  bool takes_mean(const Pattern& pattern) const override;
  bool incremental(std::size_t unit) const override;
  void save_state(std::vector<std::byte>& state) override;
  void load_state(ByteReader& state) override;
  const RoundFloats* rounds() const override { return rounds_.get(); }

 private:
  struct Unit;

  const Compressor& compressor(std::size_t unit) const override;
  bool sent(std::size_t unit) const override;
  std::span<const std::byte> own_message() const override {
    return std::span(message_).first(message_size_);
  }
  std::span<const std::byte> own_summed(std::size_t unit) const override;
  void expected_sums(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                     std::span<float> out) const override;
  void expected_gathered(const Pattern& pattern,
                         std::span<const std::span<const float>> contributions,
                         std::span<float> out) const override;

  bool take_as_they_lie(const Gradients& gradients, std::uint64_t index);
  void encode_unit(std::size_t unit, const GradientInput& input);

  ProcessorBucket(const PlannedBucket& plan, std::size_t number, const CompressorSettings& settings,
                  int ranks, double time_scale, bool sparse_sums, const PushPullOptions* servers,
                  std::size_t first_unit);
  void decode_gathered(std::span<float> aggregate);
  void decode_answers(std::span<float> aggregate);

  std::vector<Unit> units_;
  std::unique_ptr<PushedUnits> pushed_;  ///< where there are servers
  std::vector<std::byte> joined_;        ///< answers to a unit's pieces
  std::span<const std::byte> floats_;    ///< what is all-reduced: gradients, or in encoded_
  std::vector<std::byte> encoded_;
  std::unique_ptr<HalfSums> halves_;  ///< of units that are summed in 16 bits
  std::vector<std::byte> own_halves_;
  bool verbatim_ = false;           ///< summed units would only be copied
  bool as_it_lies_ = false;         ///< and were not even, in this step
  std::vector<std::byte> message_;  ///< lengths, then payloads: what is gathered
  std::size_t message_size_ = 0;
  std::unique_ptr<Rounds> rounds_;      ///< where summed units take several, instead of encoded_
  std::unique_ptr<SparseSums> sparse_;  ///< of the other units, where they are not gathered
  Pace pace_;                           ///< of codec work between rounds
  const std::vector<std::span<const std::byte>>* arrived_ = nullptr;
};

}  // namespace thinpipe
