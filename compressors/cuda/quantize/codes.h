// Quantisers to codes of a few bits, with a scale for the whole tensor or for each bucket.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/add_signs.h"
#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/codes.h"
#include "compressors/cuda/kernels/level_codes.h"
#include "compressors/cuda/kernels/signs.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/cuda/quantize/great_buckets.h"

namespace thinpipe::cuda {

template <class Device, class Code>
class CodeQuantizer : public DeviceQuantizer<Device> {
 public:
  /// @param bucket  number of elements of a bucket, which has its own scale; 0: the whole tensor is
  /// one bucket
  /// @param problem  message for malformed scales in a payload
  /// @param streams  random_stream() of each tensor, for stochastic codes
  /// @param shares  workers may share the scale, for codes with one level; only for codes of
  /// levels, without buckets
  CodeQuantizer(Code code, std::uint32_t bucket, std::string problem,
                std::vector<std::uint64_t> streams = {}, bool shares = false)
      : layout_(code.layout()),
        code_(code),
        problem_(std::move(problem)),
        streams_(std::move(streams)),
        shares_(shares) {
    layout_.bucket = bucket;
  }

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return layout_.bytes(elements);
  }
  std::uint32_t tile() const override { return layout_.tile(); }
  void open(Device& device, std::size_t /*tensor*/, Job& job) override {
    if (is_great()) {
      const auto at = [&](std::uint32_t first) { return layout_.bytes(first); };
      constexpr auto kSums = [](std::size_t n) {
        return sign_sums_of(n) * (sizeof(SignedSums) / sizeof(double));
      };
      return great_.add(device, job, layout_.bucket, layout_.bytes(job.n), at,
                        kAddsSigns ? +kSums : nullptr);
    }
    if constexpr (kAddsSigns) {
      job.block_sums =
          static_cast<double*>(device.allocate(sign_sums_of(job.n) * sizeof(SignedSums)));
    }
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    if (!streams_.empty()) job.key = random_key(streams_[tensor], step.step);
  }
  bool shares_scale() const override { return shares_; }
  void launch_scales(Device& device, const Batch& batch) override { look(device, batch); }
  void launch(Device& device, const Batch& batch) override {
    if (is_great()) {
      const Batch buckets = great_.split(device, batch);
      look(device, buckets);
      CodeLayout whole = layout_;
      whole.bucket = 0;
      device.launch(EncodeCodes<Code>{buckets.jobs, buckets.tiles, code_, whole, packs_codes_},
                    buckets.tile_count);
      return great_.join(device, batch);
    }
    if (layout_.bucket == 0) look(device, batch);
    device.launch(EncodeCodes<Code>{batch.jobs, batch.tiles, code_, layout_, packs_codes_},
                  batch.tile_count);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kElements, DecodeCodes<Code>{code_, layout_});
  }
  std::string problem(std::uint32_t number) const override {
    return number == 1 ? problem_ : "bits after the last element's are not zero";
  }

 protected:
  CodeLayout layout_;
  bool packs_codes_ = false;  ///< EncodeCodes::packs

 private:
  static constexpr bool kAddsSigns = std::is_same_v<typename Code::Partial, SignLane>;

  bool is_great() const { return layout_.bucket > kMaxBucket; }

  /// Launches the kernels that find the scales of whole tensors.
  void look(Device& device, const Batch& batch) {
    if constexpr (std::is_same_v<Code, SignCode<SignScale::kMeans>>) {
      constexpr auto kScale = SignScale::kMeans;
      device.launch(AddSigns<kScale, false>{batch.jobs, batch.sum_tiles}, batch.sum_tile_count);
      device.launch(AddSigns<kScale, true>{batch.jobs, batch.sum_tiles}, batch.sum_tile_count);
    } else if constexpr (kAddsSigns) {
      constexpr auto kScale = SignScale::kMagnitude;
      device.launch(AddSigns<kScale, false>{batch.jobs, batch.sum_tiles}, batch.sum_tile_count);
    } else if constexpr (Code::kLooksFirst) {
      using Look = AddUp<Reading::kSum, Of::kAll, FitStep<Code>, typename Code::Sums>;
      device.launch(Look{batch.jobs, batch.sum_tiles, 1, 0, {code_}}, batch.sum_tile_count);
    }
  }

  Code code_;
  GreatBuckets<Device> great_;
  std::string problem_;
  std::vector<std::uint64_t> streams_;
  bool shares_;
};

}  // namespace thinpipe::cuda
