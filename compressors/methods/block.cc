// Blocks of elements with one scale each: integers of 8 and 4 bits, floats of 8 and 4 bits, rotated
// or not. This file lays out scales and codes in a payload; the kernels do the arithmetic.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/kernels/blocks.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"

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

  QuantizeReport encode(Signal& signal, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    const auto c = signal.values();
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
        throw PayloadError("code in the payload is not a finite number");
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

/// The declaration of a block-quantising method. All share the parameters block, scale, hadamard,
/// rounding and those of the memory.
struct BlockMethod {
  std::string name;
  std::string summary;
  std::string source;
  /// Choices of `format=`. A method with one element format does not have that parameter.
  std::vector<std::pair<std::string, BlockElement>> elements;
  // Defaults of the shared parameters.
  std::string block = "256";
  std::string scale = "f32";
  std::string hadamard = "false";
  std::string rounding = "nearest";
};

std::vector<ParameterInfo> block_parameters(const BlockMethod& method) {
  std::vector<ParameterInfo> format;
  if (method.elements.size() > 1) {
    std::vector<std::string> names;
    for (const auto& [name, element] : method.elements) names.push_back(name);
    format = {choice_parameter("format", names.front(), "number format of an element", names)};
  }
  return join(
      {format,
       {choice_parameter("block", method.block, "elements per scale",
                         {"32", "64", "128", "256", "512", "1024", "2048"}),
        choice_parameter("scale", method.scale, "format of a block's scale; e8m0 is a power of two",
                         {"f32", "f16", "e8m0"}),
        flag_parameter("hadamard", method.hadamard,
                       "rotate every block: random signs, then Walsh-Hadamard"),
        choice_parameter("rounding", method.rounding,
                         "to the nearest code, or up or down at random (unbiased)",
                         {"nearest", "stochastic"})}});
}

BlockFormat format_of(const BlockMethod& method, const Parameters& parameters) {
  if (method.elements.size() > 1) {
    for (const auto& [name, element] : method.elements) {
      if (parameters.choice("format") == name) return block_format_of(parameters, element);
    }
  }
  return block_format_of(parameters, method.elements.front().second);
}

MethodInfo block_method(const BlockMethod& method) {
  return dense_method({
      .name = method.name,
      .summary = method.summary,
      .source = method.source,
      .parameters = block_parameters(method),
      .quantizer =
          [method](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) {
            return make_block_quantizer(
                {.format = format_of(method, parameters),
                 .sign_seed = settings.seed ^ hash_name(tensor.name),
                 .stream = random_stream(settings.seed, settings.rank, tensor.name)});
          },
      .expected_bits =
          [method](const Parameters& parameters) {
            const BlockFormat format = format_of(method, parameters);
            return element_bits(format.element) +
                   8 * static_cast<double>(scale_bytes(format.scale)) /
                       static_cast<double>(format.block);
          },
      .traffic =
          [method](const Parameters& parameters) {
            return EncodeTraffic{.multiply_adds = rotation_adds(format_of(method, parameters))};
          },
  });
}

// Four-bit integers in blocks: qgz has hadamard=false, sdp4bit hadamard=true.
const Registration kBlockInt4{block_method({
    .name = "blockint4",
    .summary = "4-bit integers with a scale per block",
    .source = "Wang et al., ZeRO++, section 3.3 (qgZ: block-based INT4), arXiv 2306.10209",
    .elements = {{"int4", BlockElement::kInt4}},
})};

// Eight-bit integers in blocks.
const Registration kBlockInt8{block_method({
    .name = "blockint8",
    .summary = "8-bit integers with a scale per block",
    .source = "Wang et al., ZeRO++, section 3.1 (qwZ: block-based INT8), arXiv 2306.10209",
    .elements = {{"int8", BlockElement::kInt8}},
})};

// Floats of eight bits in blocks; scale=e8m0,block=32 is MXFP8.
const Registration kFp8{block_method({
    .name = "fp8",
    .summary = "8-bit floats with a scale per block",
    .source = "Micikevicius et al., FP8 formats, arXiv 2209.05433; OCP OFP8 (2023)",
    .elements = {{"e4m3", BlockElement::kE4M3}, {"e5m2", BlockElement::kE5M2}},
    .block = "128",
})};

// Floats of four bits, 32 to a power of two.
const Registration kMxFp4{block_method({
    .name = "mxfp4",
    .summary = "4-bit floats (E2M1) with a power of two per 32",
    .source = "OCP Microscaling Formats (MX) v1.0, sections 5.3 and 6.3; arXiv 2310.10537",
    .elements = {{"e2m1", BlockElement::kE2M1}},
    .block = "32",
    .scale = "e8m0",
})};

// ZeRO++ qgZ: the payload only. Its two-hop all-to-all is a collective of its own.
const Registration kQgz{block_method({
    .name = "qgz",
    .summary = "4-bit integers with a scale per block (blockint4)",
    .source = "Wang et al., ZeRO++, section 3.3 (qgZ), arXiv 2306.10209",
    .elements = {{"int4", BlockElement::kInt4}},
})};

// SDP4Bit's gradients between nodes: 4 bits after a Hadamard transform.
const Registration kSdp4Bit{block_method({
    .name = "sdp4bit",
    .summary = "4-bit integers with a scale per rotated block (blockint4:hadamard=true)",
    .source = "Jia et al., SDP4Bit, section 3.2 (Hadamard smoother), arXiv 2410.15526",
    .elements = {{"int4", BlockElement::kInt4}},
    .block = "128",
    .hadamard = "true",
})};

}  // namespace

std::unique_ptr<Quantizer> make_block_quantizer(const BlockOptions& options) {
  return std::make_unique<BlockQuantizer>(options);
}

double rotation_adds(const BlockFormat& format) {
  return format.hadamard ? std::log2(static_cast<double>(format.block)) : 0;
}

BlockFormat block_format_of(const Parameters& parameters, BlockElement element) {
  BlockFormat format;
  format.element = element;
  const std::string& scale = parameters.choice("scale");
  format.scale = scale == "f32"   ? BlockScale::kF32
                 : scale == "f16" ? BlockScale::kF16
                                  : BlockScale::kE8M0;
  format.block = parameters.count("block");
  format.hadamard = parameters.flag("hadamard");
  format.stochastic = parameters.choice("rounding") == "stochastic";
  return format;
}

}  // namespace thinpipe
