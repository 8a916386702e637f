// Lays the blocks' scales and codes out in a payload; the kernel does the rest.
#include "compressors/quantize/block.h"

#include <vector>

#include "compressors/kernels/blocks.h"
#include "compressors/kernels/hadamard.h"

namespace thinpipe {
namespace {

class BlockQuantizer : public Quantizer {
 public:
  explicit BlockQuantizer(const BlockOptions& options)
      : format_(options.format), stream_(options.stream) {
    if (!format_.hadamard) return;
    signs_.resize(kMaxBlock);
    random_signs(options.sign_seed, signs_);
  }

  std::size_t max_encoded_size(std::size_t elements) const override {
    return scales_size(elements) + code_bytes(format_, elements);
  }

  QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                        std::span<float> remainder, ByteWriter& out) override {
    std::byte* const scales = out.free().data();
    out.advance(scales_size(c.size()));
    auto* const codes = reinterpret_cast<std::uint8_t*>(out.free().data());
    out.advance(code_bytes(format_, c.size()));
    const RandomKey key = random_key(stream_, context.step);
    return {
        .nonzero = encode_blocks(format_, {.sign_bits = signs_}, key, c, remainder, scales, codes),
        .passes = 1};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const auto scales = in.get_bytes(scales_size(out.size()), "scales");
    const auto codes = in.get_bytes(code_bytes(format_, out.size()), "codes");
    in.expect_end();
    switch (decode_blocks(format_, {.sign_bits = signs_}, scales.data(),
                          reinterpret_cast<const std::uint8_t*>(codes.data()), factor, out)) {
      case BlockProblem::kNone:
        return;
      case BlockProblem::kScale:
        throw PayloadError("scale of a block in the payload is not a finite number of at least 0");
      case BlockProblem::kCode:
        throw PayloadError("code in the payload stands for no finite number");
      case BlockProblem::kPadding:
        throw PayloadError("padding after the last code in the payload is not zero");
    }
  }

 private:
  std::size_t scales_size(std::size_t elements) const {
    return block_count(format_, elements) * scale_bytes(format_.scale);
  }

  BlockFormat format_;
  std::uint64_t stream_;
  std::vector<std::uint32_t> signs_;
};

}  // namespace

std::unique_ptr<Quantizer> make_block_quantizer(const BlockOptions& options) {
  return std::make_unique<BlockQuantizer>(options);
}

}  // namespace thinpipe
