// Quantisers of blocks with a scale each, and of THC's blocks, which share one scale.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/blocks.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/transforms.h"

namespace thinpipe::cuda {

struct DeviceBlockOptions {
  BlockFormat format;
  float range = 0;  ///< of the shared scale, in root mean squares; 0: no shared scale
  std::vector<std::uint64_t> sign_seeds;  ///< of each tensor's rotation
  std::vector<std::uint64_t> streams;     ///< random_stream() of each tensor
};

template <class Device, class Element>
class BlockQuantizer : public DeviceQuantizer<Device> {
 public:
  explicit BlockQuantizer(DeviceBlockOptions options)
      : DeviceQuantizer<Device>(std::move(options.streams)),
        options_(std::move(options)),
        layout_{options_.format} {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return layout_.bytes(elements);
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    if (!options_.format.hadamard) return;
    std::vector<std::uint32_t> signs(options_.format.block);
    random_signs(options_.sign_seeds[tensor], signs);
    job.signs = uploaded(device, signs);
  }
  bool shares_scale() const override { return options_.format.scale == BlockScale::kGiven; }
  void launch_scales(Device& device, const Batch& batch) override {
    batch.launch_tiles<FindRange>(device, layout_, 0.0F);
  }
  void launch(Device& device, const Batch& batch) override {
    if (shares_scale()) batch.launch_tiles<FindRange>(device, layout_, options_.range);
    batch.launch_tiles<EncodeBlocks<Element>>(device, layout_);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kElements, DecodeBlocks<Element>{layout_});
  }
  std::string problem(std::uint32_t number) const override {
    switch (static_cast<BlockProblem>(number)) {
      case BlockProblem::kNone:
        break;
      case BlockProblem::kScale:
        return shares_scale()
                   ? "distance of two levels in the payload is not a finite number of at least 0"
                   : "scale of a block in the payload is not a finite number of at least 0";
      case BlockProblem::kCode:
        return "code in the payload stands for no finite number";
      case BlockProblem::kPadding:
        return "padding after the last code in the payload is not zero";
    }
    return "";
  }

 private:
  DeviceBlockOptions options_;
  BlockLayout layout_;
};

/// Makes the quantiser of the options' element type.
template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_block_quantizer(DeviceBlockOptions options) {
  const auto make = [&]<class Element>(Element) -> std::unique_ptr<DeviceQuantizer<Device>> {
    return std::make_unique<BlockQuantizer<Device, Element>>(std::move(options));
  };
  switch (options.format.element) {
    case BlockElement::kInt8:
      return make(IntegerElement<8>{});
    case BlockElement::kInt4:
      return make(IntegerElement<4>{});
    case BlockElement::kE4M3:
      return make(E4M3Element{});
    case BlockElement::kE5M2:
      return make(E5M2Element{});
    case BlockElement::kE2M1:
      return make(E2M1Element{});
    case BlockElement::kLevels16:
      return make(LevelElement<4>{});
    case BlockElement::kLevels256:
      return make(LevelElement<8>{});
  }
  return nullptr;
}

}  // namespace thinpipe::cuda
