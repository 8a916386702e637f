// Quantisers that encode each element independently, and quantisers to codes of a few bits, with a
// scale for the whole tensor or for each bucket.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/codes.h"
#include "compressors/cuda/kernels/level_codes.h"
#include "compressors/cuda/kernels/signs.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/cuda/quantize/device_quantizer.h"

namespace thinpipe::cuda {

template <class Device, class Code>
class WordQuantizer : public DeviceQuantizer<Device> {
 public:
  WordQuantizer(Code code, std::string problem, std::vector<std::uint64_t> streams = {})
      : DeviceQuantizer<Device>(std::move(streams)), code_(code), problem_(std::move(problem)) {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return Code::bytes(elements);
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_tiles<EncodeWords<Code>>(device, code_);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kElements, DecodeWords<Code>{code_});
  }
  std::string problem(std::uint32_t /*number*/) const override { return problem_; }

 private:
  Code code_;
  std::string problem_;
};

template <class Device, class Code>
class CodeQuantizer : public DeviceQuantizer<Device> {
 public:
  /// @param bucket  number of elements of a bucket, which has its own scale; 0: the whole tensor is
  /// one bucket
  /// @param problem  message for malformed scales in a payload
  /// @param shares  workers may share the scale, for codes with one level; only for codes of
  /// levels, without buckets
  CodeQuantizer(Code code, std::uint32_t bucket, std::string problem,
                std::vector<std::uint64_t> streams = {}, bool shares = false)
      : DeviceQuantizer<Device>(std::move(streams)),
        layout_(code.layout()),
        code_(code),
        problem_(std::move(problem)),
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
      return great_.add(device, job, layout_.bucket, layout_.bytes(job.n), at,
                        kAddsSigns ? doubles_of_signs : nullptr);
    }
    if constexpr (kAddsSigns)
      job.block_sums = device_array<double>(device, doubles_of_signs(job.n));
  }
  bool shares_scale() const override { return shares_; }
  void launch_scales(Device& device, const Batch& batch) override { look(device, batch); }
  void launch(Device& device, const Batch& batch) override {
    if (is_great()) {
      const Batch buckets = great_.split(device, batch);
      look(device, buckets);
      CodeLayout whole = layout_;
      whole.bucket = 0;
      buckets.launch_tiles<EncodeCodes<Code>>(device, code_, whole, packs_codes_);
      return great_.join(device, batch);
    }
    if (layout_.bucket == 0) look(device, batch);
    batch.launch_tiles<EncodeCodes<Code>>(device, code_, layout_, packs_codes_);
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

  /// Returns the number of doubles that the signed sums of n elements need.
  static std::size_t doubles_of_signs(std::size_t n) {
    return sign_sums_of(n) * (sizeof(SignedSums) / sizeof(double));
  }
  bool is_great() const { return layout_.bucket > kMaxBucket; }

  /// Launches the kernels that find the scales of whole tensors.
  void look(Device& device, const Batch& batch) {
    if constexpr (std::is_same_v<Code, SignCode<SignScale::kMeans>>) {
      batch.launch_sum_tiles<AddSigns<SignScale::kMeans, false>>(device);
      batch.launch_sum_tiles<AddSigns<SignScale::kMeans, true>>(device);
    } else if constexpr (kAddsSigns) {
      batch.launch_sum_tiles<AddSigns<SignScale::kMagnitude, false>>(device);
    } else if constexpr (Code::kLooksFirst) {
      using Look = AddUp<Reading::kSum, Of::kAll, FitStep<Code>, typename Code::Sums>;
      batch.launch_sum_tiles<Look>(device, FitStep<Code>{code_});
    }
  }

  Code code_;
  GreatBuckets<Device> great_;
  std::string problem_;
  bool shares_;
};

}  // namespace thinpipe::cuda
