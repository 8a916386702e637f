// Quantisers whose payloads are words made one by one.
#pragma once

#include <utility>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/cuda/quantize/device_quantizer.h"

namespace thinpipe::cuda {

/// Findings::scale becomes the step of 127 levels up to the greatest magnitude.
struct FitLevels {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    constexpr float kLevels = 127;
    job.findings->scale = level_step(magnitude_of(static_cast<std::int32_t>(totals.most)), kLevels);
  }
};

template <class Device, class Code>
class WordQuantizer : public DeviceQuantizer<Device> {
 public:
  WordQuantizer(Code code, std::string problem) : code_(code), problem_(std::move(problem)) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    return Code::bytes(elements);
  }
  void launch(Device& device, const Batch& batch) override {
    if constexpr (Code::kHeader > 0) {
      using Greatest = AddUp<Reading::kSum, Of::kAll, FitLevels>;
      device.launch(Greatest{batch.jobs, batch.sum_tiles, 1, 0, {}}, batch.sum_tile_count);
    }
    device.launch(EncodeWords<Code>{batch.jobs, batch.tiles, code_}, batch.tile_count);
  }
  void decode(Device& device, const DeviceDecoding& decoding) override {
    device.launch(DecodeWords<Code>{.payload = decoding.payload,
                                    .n = decoding.n,
                                    .factor = decoding.factor,
                                    .out = decoding.out,
                                    .problem = decoding.problem,
                                    .code = code_},
                  tiles_of(decoding.n, kTile));
  }
  std::string problem(std::uint32_t /*number*/) const override { return problem_; }

 private:
  Code code_;
  std::string problem_;
};

}  // namespace thinpipe::cuda
