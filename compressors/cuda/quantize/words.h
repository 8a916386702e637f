// Quantisers that encode each element independently.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/words.h"
#include "compressors/cuda/quantize/device_quantizer.h"

namespace thinpipe::cuda {

template <class Device, class Code>
class WordQuantizer : public DeviceQuantizer<Device> {
 public:
  /// @param streams  random_stream() of each tensor, for stochastic codes
  WordQuantizer(Code code, std::string problem, std::vector<std::uint64_t> streams = {})
      : code_(code), problem_(std::move(problem)), streams_(std::move(streams)) {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return Code::bytes(elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    if (!streams_.empty()) job.key = random_key(streams_[tensor], step.step);
  }
  void launch(Device& device, const Batch& batch) override {
    device.launch(EncodeWords<Code>{batch.jobs, batch.tiles, code_}, batch.tile_count);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kElements, DecodeWords<Code>{code_});
  }
  std::string problem(std::uint32_t /*number*/) const override { return problem_; }

 private:
  Code code_;
  std::string problem_;
  std::vector<std::uint64_t> streams_;
};

}  // namespace thinpipe::cuda
