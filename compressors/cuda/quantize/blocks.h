// Quantisers of blocks with a scale each, and of THC's blocks, which share one scale.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/kernels/blocks.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/transforms.h"

namespace thinpipe::cuda {

template <class Device, class Element>
class BlockQuantizer : public DeviceQuantizer<Device> {
 public:
  BlockQuantizer(const MakerInput& input, const BlockFormat& format, float range)
      : DeviceQuantizer<Device>(input.streams()),
        layout_{format},
        range_(range),
        sign_seeds_(input.seeds()) {}

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    return layout_.bytes(elements);
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    if (!layout_.format.hadamard) return;
    std::vector<std::uint32_t> signs(layout_.format.block);
    random_signs(sign_seeds_[tensor], signs);
    job.signs = uploaded(device, signs);
  }
  bool shares_scale() const override { return layout_.format.scale == BlockScale::kGiven; }
  void launch_scales(Device& device, const Batch& batch) override {
    batch.launch_tiles<FindRange>(device, layout_, 0.0F);
  }
  void launch(Device& device, const Batch& batch) override {
    if (shares_scale()) batch.launch_tiles<FindRange>(device, layout_, range_);
    batch.launch_tiles<EncodeBlocks<Element>>(device, layout_);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kElements, DecodeBlocks<Element>{layout_});
  }
  std::string problem(std::uint32_t number) const override {
    const std::string scale = shares_scale() ? "distance of two levels" : "scale of a block";
    const std::string problems[] = {"",
                                    scale + " in the payload is not a finite number of at least 0",
                                    "code in the payload stands for no finite number",
                                    "padding after the last code in the payload is not zero"};
    static_assert(static_cast<int>(BlockProblem::kScale) == 1 &&
                  static_cast<int>(BlockProblem::kCode) == 2 &&
                  static_cast<int>(BlockProblem::kPadding) == 3);
    return number < std::size(problems) ? problems[number] : "";
  }

 private:
  BlockLayout layout_;
  float range_;
  std::vector<std::uint64_t> sign_seeds_;  ///< of each tensor's rotation
};

/// Makes the quantiser of the format's element type.
/// @param range  of the shared scale, in root mean squares; 0: no shared scale
template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_block_quantizer(const MakerInput& input,
                                                              const BlockFormat& format,
                                                              float range = 0) {
  const auto make = [&]<class Element>(Element) -> std::unique_ptr<DeviceQuantizer<Device>> {
    return std::make_unique<BlockQuantizer<Device, Element>>(input, format, range);
  };
  switch (format.element) {
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
