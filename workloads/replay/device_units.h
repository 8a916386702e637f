// A bucket's gradients on a device, and their compressors.
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

/// A bucket's units on a device. One GPU compressor serves all units of one spec. Each unit also
/// has a CPU compressor, which computes the expected result outside of a step's time.
class DeviceUnits {
 public:
  /// @param plan  of the bucket, which must outlive this; its units are in the order of the
  /// aggregate
  /// @param number  the bucket's index, as Gradients counts buckets
  /// @param adds_up  whether gradients of several local steps are added up
  /// @param overlaps  whether next_round() is called while the device works on other buckets; units
  /// of several rounds then have streams of their own
  /// @throws InputError for specs that have no GPU implementation; RunError when the device's
  /// memory does not suffice
  DeviceUnits(const RankDevice& device, const PlannedBucket& plan, std::size_t number,
              const CompressorSettings& settings, bool adds_up, bool overlaps);
  ~DeviceUnits();

  /// Returns the device, with the streams that the units use, for all users of payload().
  const RankDevice& device() const { return device_; }
  bool takes_rounds() const;
  const Compressor& cpu_compressor(std::size_t unit) const { return *units_[unit].cpu_compressor; }
  /// Returns whether the unit is sent the `exchange`-th time that gradients are handed over.
  bool sends(std::size_t unit, std::uint64_t exchange) const {
    return (exchange + 1) % units_[unit].cpu_compressor->period() == 0;
  }

  /// Copies the gradients of a step to the device. @throws InputError for missing second moments
  void load(const Gradients& gradients, std::uint64_t index);
  /// Adds the gradients to the units' sums, which begin anew in the first of several local steps.
  void add_up(bool first) {
    if (first)
      device_.memory->copy(sums_, gradients_, floats_ * sizeof(float));
    else
      device_.arithmetic->add(sums_, gradients_, floats_);
  }
  /// Computes this rank's own scale for each unit from number `first` to the last; the greatest
  /// scale of all ranks is found afterwards. A unit is the input of one compressor: a tensor, or
  /// several tensors joined. Writes 0 for units whose ranks do not agree on a scale, and for units
  /// that are not sent in this exchange.
  void take_scales(std::uint64_t exchange, std::size_t first, std::span<float> scales);
  /// Encodes units that are sent in this step and accumulates the gradients of all other units. For
  /// units before `first`, payload() is then the input of the first all-reduce.
  /// @param scales  the greatest scales over all ranks, for units from `first` on; empty if no
  /// scale is shared
  void encode(const Gradients& gradients, std::uint64_t index, std::size_t first,
              std::span<const float> scales);
  /// Processes the means of round `round` for units with several rounds. payload() is then the
  /// input of the next all-reduce or, after the last round, the aggregate's payload. Returns when
  /// that payload is complete.
  /// @param device_means  by summed unit
  void next_round(int round, std::span<const float* const> device_means);
  /// Marks all units as not sent.
  void skip();

  // Results of the last encode().
  bool sent(std::size_t unit) const { return units_[unit].sent; }
  const EncodeReport& report(std::size_t unit) const { return units_[unit].report; }
  /// Returns the device pointer of a payload; valid until the next encode().
  const std::byte* payload(std::size_t unit) const;
  /// Copies the payload of this rank's contribution to the host, after the last of several rounds.
  void own_payload(std::size_t unit, std::span<std::byte> payload) const;
  Distortion distortion(std::size_t unit, const Gradients& gradients, std::uint64_t index,
                        std::span<const std::byte> payload) const;

  /// Decodes as DeviceCompressor's functions of these names, for all units.
  void begin_decode(std::size_t unit, const std::byte* device_payload, std::size_t bytes,
                    float factor, float* device_out) const;
  void finish_decodes() const;

  /// Restores values to residuals as DeviceCompressor::give_back(), where DeviceReturn::tensor is
  /// the unit.
  void give_back(std::span<const DeviceReturn> returns) const;

  void save_state(std::vector<std::byte>& state) const;
  void load_state(ByteReader& state);

 private:
  struct Unit {
    std::unique_ptr<Compressor> cpu_compressor;
    std::size_t group = 0, place = 0;  // `place`: index among the group's units
    float* gradient = nullptr;         // of the step, on the device
    float* input = nullptr;            // of the encoder: `gradient`, or the sum of local steps
    float* squares = nullptr;
    bool sent = false;
    EncodeReport report;
  };
  struct Group;

  std::vector<std::byte> state_of(const Unit& unit) const;

  RankDevice device_;
  const PlannedBucket& plan_;
  std::size_t number_;
  std::vector<Unit> units_;
  std::vector<Group> groups_;
  std::size_t floats_ = 0;                        ///< of all gradients, which are contiguous
  float *gradients_ = nullptr, *sums_ = nullptr;  ///< on the device
};

}  // namespace thinpipe
