// 3LC and stochastic ternary quantisers.
#pragma once

#include <string>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/ternary.h"
#include "compressors/cuda/kernels/zero_runs.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/cuda/quantize/great_buckets.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

struct FitTernary {
  float sparsity;

  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    job.findings->scale =
        ternary_scale(sparsity, magnitude_of(static_cast<std::int32_t>(totals.most)));
  }
};

template <class Device>
class TernaryQuantizer : public DeviceQuantizer<Device> {
 public:
  TernaryQuantizer(const MakerInput& input, const TernaryOptions& options)
      : DeviceQuantizer<Device>(input.streams()), options_(options), layout_{input.bucket()} {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return scale_bytes(elements) + layout_.bytes(elements);
  }
  std::uint32_t tile() const override { return layout_.tile(); }
  bool packs() const override { return options_.zero_run; }
  void open(Device& device, std::size_t /*tensor*/, Job& job) override {
    states_of_.push_back(states_count_);
    states_count_ += tiles_of(static_cast<std::uint32_t>(layout_.bytes(job.n)), kTile);
    if (!is_great()) return;
    // Without packing, the payload holds all scales before the buckets' bytes.
    const std::size_t scales = packs() ? 0 : scale_bytes(job.n);
    great_.add(device, job, layout_.bucket, max_encoded_size(0, job.n),
               [&](std::uint32_t first) { return scales + layout_.bytes(first); });
  }
  void launch(Device& device, const Batch& batch) override {
    if (is_great()) {
      const Batch buckets = great_.split(device, batch);
      find_scales(device, buckets);
      buckets.launch_tiles<PackTernaryParts>(device, layout_);
      great_.join(device, batch);
    } else if (layout_.bucket != 0) {
      batch.launch_tiles<PackTernaryBuckets>(device, layout_, options_.sparsity);
    } else {
      find_scales(device, batch);
      batch.launch_parts<PackTernary>(device, TernaryDigit{options_.stochastic});
    }
    if (options_.zero_run) batch.launch_tiles<FoldZeros>(device, layout_);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes >= scale_bytes(elements) && bytes <= max_encoded_size(tensor, elements);
  }
  void plan_decode(Device& device, DecodeJob& job, DecodePlan& plan) override {
    if (states_ == nullptr) states_ = device_array<PrefixState>(device, states_count_);
    job.states = states_ + states_of_[job.tensor];
    const auto codes = job.payload.bytes - static_cast<std::uint32_t>(scale_bytes(job.payload.n));
    plan[DecodeGrid::kElements] = tiles_of(codes, kTile);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    device.zero(states_, states_count_ * sizeof(PrefixState));
    batch.launch(device, DecodeGrid::kElements, UnpackTernary{options_.zero_run, layout_});
  }
  std::string problem(std::uint32_t number) const override {
    switch (static_cast<TernaryProblem>(number)) {
      case TernaryProblem::kNone:
        break;
      case TernaryProblem::kScale:
        return "ternary payload: the scale is not a finite number of at least 0";
      case TernaryProblem::kByte:
        return "ternary payload: byte over 242 without zero-run encoding";
      case TernaryProblem::kPadding:
        return "ternary payload: padding is not zero";
      case TernaryProblem::kLength:
        return "ternary payload: bytes for more or fewer elements than the tensor has";
    }
    return "";
  }

 private:
  std::size_t scale_bytes(std::size_t elements) const {
    return layout_.scales(elements) * sizeof(float);
  }
  bool is_great() const { return layout_.bucket > kMaxBucket; }
  void find_scales(Device& device, const Batch& batch) {
    using Greatest = AddUp<Reading::kSum, Of::kAll, FitTernary>;
    batch.launch_sum_tiles<Greatest>(device, FitTernary{options_.sparsity});
  }

  TernaryOptions options_;  ///< except for the stream and the bucket
  TernaryLayout layout_;
  GreatBuckets<Device> great_;
  std::vector<std::size_t> states_of_;  ///< by tensor, the index of its first state
  std::size_t states_count_ = 0;
  PrefixState* states_ = nullptr;  ///< for decoding
};

}  // namespace thinpipe::cuda
