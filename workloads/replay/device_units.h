// A bucket's gradients on a device, and what compresses them there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/cuda/rank_device.h"
#include "compressors/wire/bytes.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Units of one spec are worked on together. Each has a twin on the processor, which says what is
/// expected of it and checks what it did; no part of a step's time.
class DeviceUnits {
 public:
  /// @param plan  of the bucket, which must outlive this; its units in the order in which they lie
  /// @param number  among the buckets, as Gradients counts them
  /// @param adds_up  gradients of several local steps
  /// @param overlaps  next_round() is called while the device works on other buckets: units of
  /// several rounds have streams of their own
  /// @throws InputError for specs that have no twin on the device; RunError when its memory does
  /// not suffice
  DeviceUnits(const RankDevice& device, const PlannedBucket& plan, std::size_t number,
              const CompressorSettings& settings, bool adds_up, bool overlaps);
  ~DeviceUnits();

  /// Where they are worked on: for all that takes what they made.
  const RankDevice& device() const { return device_; }
  bool takes_rounds() const;
  const Compressor& twin(std::size_t unit) const { return *units_[unit].twin; }
  /// Whether the unit is sent the `exchange`-th time that gradients are handed over.
  bool sends(std::size_t unit, std::uint64_t exchange) const;

  /// Uploads the gradients of a step. @throws InputError where second moments are missing
  void load(const Gradients& gradients, std::uint64_t index);
  /// Adds them to the units' sums, which begin anew with the first of several local steps.
  void add_up(bool first);
  /// Takes the units' own scales, from unit `first` on; 0 where a scale is not shared and sent in
  /// this exchange.
  void take_scales(std::uint64_t exchange, std::size_t first, std::span<float> scales);
  /// Encodes units that are sent in this step and accumulates the others' gradients. Before
  /// `first`, a payload() is the input of the first all-reduce.
  /// @param scales  the greatest of all ranks, of units from `first` on; empty: none is shared
  void encode(const Gradients& gradients, std::uint64_t index, std::size_t first,
              std::span<const float> scales);
  /// Takes the means of units with several all-reduces, after `round` of them, and leaves the next
  /// payload(), in the last round the aggregate's. Waits for it.
  /// @param device_means  by summed unit
  void next_round(int round, std::span<const float* const> device_means);
  /// Nothing is sent.
  void skip();

  // Results of the last encode().
  bool sent(std::size_t unit) const { return units_[unit].sent; }
  const EncodeReport& report(std::size_t unit) const { return units_[unit].report; }
  /// On the device, until the next encode().
  const std::byte* payload(std::size_t unit) const;
  /// After the last of several rounds: of this rank's part of the aggregate, to the host.
  void own_payload(std::size_t unit, std::span<std::byte> payload) const;
  Distortion distortion(std::size_t unit, const Gradients& gradients, std::uint64_t index,
                        std::span<const std::byte> payload) const;

  /// As DeviceCompressor's, of all units.
  void begin_decode(std::size_t unit, const std::byte* device_payload, std::size_t bytes,
                    float factor, float* device_out) const;
  void finish_decodes() const;

  /// As DeviceCompressor's, of units that have one: DeviceReturn::tensor is the unit.
  void give_back(std::span<const DeviceReturn> returns) const;

  void save_state(std::vector<std::byte>& state) const;
  void load_state(ByteReader& state);

 private:
  struct Unit {
    std::unique_ptr<Compressor> twin;
    std::size_t group = 0, place = 0;  // among that group's units
    float* gradient = nullptr;         // of the step, on the device
    float* input = nullptr;            // what is encoded: that, or the sum of several
    float* squares = nullptr;
    bool sent = false;
    EncodeReport report;
  };
  struct Group;

  void make_twins(const CompressorSettings& settings);
  std::vector<std::byte> state_of(const Unit& unit) const;

  RankDevice device_;
  const PlannedBucket& plan_;
  std::size_t number_;
  std::vector<Unit> units_;
  std::vector<Group> groups_;
  std::size_t floats_ = 0;                        ///< of all gradients, which lie together
  float *gradients_ = nullptr, *sums_ = nullptr;  ///< on the device
};

}  // namespace thinpipe
