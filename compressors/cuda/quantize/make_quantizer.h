// The quantisers of a GPU, by the method's name.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/quantize/blocks.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/columns.h"
#include "compressors/cuda/quantize/demo.h"
#include "compressors/cuda/quantize/elias.h"
#include "compressors/cuda/quantize/power_sgd.h"
#include "compressors/cuda/quantize/ternary.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

inline constexpr const char* kBadScale =
    "a scale in the payload is not a finite number of at least 0";
// Bytes and coefficients, like elements, are counted in 31 bits (kernels/prefix.h).
inline constexpr std::size_t kMaxCount = 0x7fffffff;

inline std::uint32_t bucket_of(const MakerInput& input) {
  return static_cast<std::uint32_t>(input.parameters.integer("bucket"));
}

/// @throws InputError if a tensor has too many bytes or coefficients
inline void refuse_beyond_count(const MakerInput& input, const TensorInfo& tensor,
                                std::size_t count, const char* what) {
  if (count <= kMaxCount) return;
  refuse(input.parameters, "tensor '" + tensor.name + "' has " + std::to_string(count) + " " +
                               what + "; at most " + std::to_string(kMaxCount) + " fit");
}

/// @param code  the code of one element (kernels/codes.h)
/// @param shares  whether workers may share the scale
template <class Device, class Code>
std::unique_ptr<DeviceQuantizer<Device>> make_code_quantizer(const MakerInput& input, Code code,
                                                             std::uint32_t bucket,
                                                             const char* problem = kBadScale,
                                                             bool shares = false) {
  return std::make_unique<CodeQuantizer<Device, Code>>(code, bucket, problem, input.streams(),
                                                       shares);
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_mean_quantizer(const MakerInput& input) {
  if (!input.parameters.flag("columns"))
    return make_code_quantizer<Device>(input, SignCode<SignScale::kMeans>{}, bucket_of(input),
                                       "a mean in the payload is not finite");
  return std::make_unique<ColumnQuantizer<Device>>(
      input.by_tensor([](const TensorInfo& one) { return columns_of(one.shape, one.elements); }));
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_qsgd_quantizer(const MakerInput& input) {
  LevelCode<NormRange> code;
  code.bits = static_cast<int>(input.parameters.integer("bits"));
  if (input.parameters.choice("coding") != "elias")
    return make_code_quantizer<Device>(input, code, bucket_of(input));
  auto elias = std::make_unique<EliasQuantizer<Device>>(code, bucket_of(input), input.streams());
  for (std::size_t i = 0; i < input.tensors.size(); ++i)
    refuse_beyond_count(input, input.tensors[i],
                        elias->max_encoded_size(i, input.tensors[i].elements),
                        "bytes of payload at most");
  return elias;
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_terngrad_quantizer(const MakerInput& input) {
  constexpr int kBits = 2;
  const std::uint32_t bucket = bucket_of(input);
  const bool shares = input.parameters.flag("shared");
  if (bucket != 0 && shares)
    refuse(input.parameters, "workers cannot share the scales of buckets; expected shared=false");
  if (const double sigmas = input.parameters.real("sigma"); sigmas != 0) {
    LevelCode<ClippedRange> code;
    code.sigmas = sigmas;
    code.bits = kBits;
    return make_code_quantizer<Device>(input, code, bucket, kBadScale, shares);
  }
  LevelCode<GreatestRange> code;
  code.bits = kBits;
  return make_code_quantizer<Device>(input, code, bucket, kBadScale, shares);
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_half_quantizer(HalfFormat format) {
  return std::make_unique<WordQuantizer<Device, HalfCode>>(HalfCode{format},
                                                           "a value in the payload is not finite");
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_power_sgd_quantizer(const MakerInput& input) {
  DevicePowerSgdOptions options{.warm_start = input.parameters.flag("warm"),
                                .in_rounds = input.parameters.choice("exchange") == "allreduce"};
  const auto rank = input.parameters.count("rank");
  options.shapes = input.by_tensor(
      [&](const TensorInfo& one) { return low_rank_shape(one.shape, one.elements, rank); });
  options.seeds = input.seeds();
  return std::make_unique<PowerSgdQuantizer<Device>>(std::move(options));
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_demo_quantizer(const MakerInput& input) {
  DeviceDemoOptions options{.k = input.parameters.count("topk"),
                            .values = input.parameters.choice("values")};
  const std::size_t chunk = input.parameters.count("chunk");
  for (const TensorInfo& tensor : input.tensors) {
    options.grids.push_back(demo_grid(tensor.shape, tensor.elements, chunk));
    refuse_beyond_count(input, tensor, options.grids.back().coefficients(), "coefficients");
  }
  return std::make_unique<DemoQuantizer<Device>>(std::move(options));
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_block_method(const MakerInput& input,
                                                           DeviceBlockOptions options) {
  options.sign_seeds = input.seeds();
  options.streams = input.streams();
  return make_block_quantizer<Device>(std::move(options));
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_thc_quantizer(const MakerInput& input) {
  DeviceBlockOptions options;
  options.format = thc_format(static_cast<int>(input.parameters.integer("bits")),
                              input.parameters.count("block"));
  options.range = static_cast<float>(input.parameters.real("range"));
  return make_block_method<Device>(input, std::move(options));
}

/// Returns the makers of all dense methods.
template <class Device>
const Makers<DeviceQuantizer<Device>>& quantizer_makers() {
  using Made = std::unique_ptr<DeviceQuantizer<Device>>;
  const auto whole = [](const MakerInput&) -> Made {
    return std::make_unique<WordQuantizer<Device, Fp32Code>>(Fp32Code{}, "");
  };
  const auto blocks_of = [](BlockElement element) {
    return [element](const MakerInput& input) {
      DeviceBlockOptions options;
      options.format = block_format_of(input.parameters, element);
      return make_block_method<Device>(input, std::move(options));
    };
  };
  const auto float8 = [blocks_of](const MakerInput& input) {
    const bool e4m3 = input.parameters.choice("format") == "e4m3";
    return blocks_of(e4m3 ? BlockElement::kE4M3 : BlockElement::kE5M2)(input);
  };
  static const Makers<DeviceQuantizer<Device>> makers = {
      {"none", whole},
      {"fedavg", whole},
      {"fp16", [](const MakerInput&) { return make_half_quantizer<Device>(HalfFormat::kFp16); }},
      {"bf16", [](const MakerInput&) { return make_half_quantizer<Device>(HalfFormat::kBf16); }},
      {"natural",
       [](const MakerInput& input) -> Made {
         return std::make_unique<WordQuantizer<Device, NaturalCode>>(
             NaturalCode{},
             "an exponent in the payload is 255, or bits after the last sign are not zero",
             input.streams());
       }},
      {"int8",
       [](const MakerInput& input) {
         return make_code_quantizer<Device>(input, Int8Code{}, bucket_of(input));
       }},
      {"signsgd",
       [](const MakerInput& input) {
         const GivenSignCode code{static_cast<float>(input.parameters.real("scale"))};
         return make_code_quantizer<Device>(input, code, 0, "");
       }},
      {"efsignsgd",
       [](const MakerInput& input) {
         return make_code_quantizer<Device>(input, SignCode<SignScale::kMagnitude>{},
                                            bucket_of(input));
       }},
      {"mqe1bit", make_mean_quantizer<Device>},
      {"onebit", make_mean_quantizer<Device>},
      {"qsgd", make_qsgd_quantizer<Device>},
      {"terngrad", make_terngrad_quantizer<Device>},
      {"3lc",
       [](const MakerInput& input) -> Made {
         return std::make_unique<TernaryQuantizer<Device>>(
             DeviceTernaryOptions{.sparsity = static_cast<float>(input.parameters.real("s")),
                                  .zero_run = input.parameters.flag("zre"),
                                  .bucket = bucket_of(input)});
       }},
      {"stoch3",
       [](const MakerInput& input) -> Made {
         DeviceTernaryOptions options{.sparsity = 1, .zero_run = false, .stochastic = true};
         options.streams = input.streams();
         return std::make_unique<TernaryQuantizer<Device>>(std::move(options));
       }},
      {"powersgd", make_power_sgd_quantizer<Device>},
      {"demo", make_demo_quantizer<Device>},
      {"thc", make_thc_quantizer<Device>},
      {"fp8", float8},
      {"mxfp4", blocks_of(BlockElement::kE2M1)},
      {"blockint8", blocks_of(BlockElement::kInt8)},
      {"blockint4", blocks_of(BlockElement::kInt4)},
      {"qgz", blocks_of(BlockElement::kInt4)},
      {"sdp4bit", blocks_of(BlockElement::kInt4)}};
  return makers;
}

}  // namespace thinpipe::cuda
