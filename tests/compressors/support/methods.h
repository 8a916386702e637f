// Specs that between them use every component, and short ways to run a compressor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compressors/kernels/random.h"
#include "compressors/registry.h"

namespace thinpipe::testing {

inline const std::vector<std::string>& all_specs() {
  static const std::vector<std::string> specs = words_in(R"(
      none topk topk:ratio=0.1,positions=golomb topk:memory=none,ratio=0.001
      topk:decay=0.5,positions=run16,ratio=1 topk:values=mean,memory=momentum,nesterov=true
      topk:memory=none,delay=3,clip=0.5 topk:memory=ef21,ratio=0.05,delay=2
      topk:memory=clear,values=mean topk:ratio=0.1,values=fp16
      topk:ratio=0.1,values=bf16,positions=golomb topk:ratio=0.1,values=int8
      topk:ratio=0.1,values=int2 topk:ratio=0.1,values=exp4 topk:ratio=0.1,values=sign dgc
      dgc:ratio=0.05,sampling=lines dgc:ratio=0.1,sampling=strided,nesterov=true,masking=false
      dgc:memory=residual,clip=1,workers=4,warmup=0.25/0.0625 sidco
      sidco:ratio=0.01,stages=3,positions=golomb sidco:adapt=climb,q=1,ratio=0.01 threshold:tau=0.05
      gradientdropping gradientdropping:sample=0.1,ratio=0.05 randomk
      randomk:memory=none,scale=true,ratio=0.7,values=bf16 randomk:memory=ef21,positions=golomb
      redsync:ratio=0.05 redsync:variant=trim gaussiank:ratio=0.05
      gaussiank:variant=oktopk,ratio=0.02 mstopk:ratio=0.02 mstopk:rounds=2,memory=none variance
      variance:alpha=2,zeta=0.9,values=fp32,positions=golomb hybrid
      hybrid:tau=0.1,alpha=0.5,values=exp4 strom strom:tau=0.1,positions=run16 sidco:dist=gamma
      sidco:dist=gamma,inverse=exact,stages=2,ratio=0.02
      sidco:dist=gpareto,stages=3,location=min,ratio=0.02 3lc 3lc:s=1.9,memory=none
      3lc:zre=false,memory=momentum 3lc:memory=ef21 3lc:bucket=512
      3lc:bucket=640,zre=false,memory=none stoch3 fp16 bf16:memory=residual int8
      int8:bucket=64,memory=residual mqe1bit mqe1bit:bucket=512 onebit efsignsgd signsgd:scale=0.001
      natural terngrad terngrad:sigma=0,shared=false,bucket=100 qsgd
      qsgd:bits=2,bucket=0,memory=residual qsgd:bits=7,bucket=100 qsgd:coding=elias
      qsgd:bits=8,coding=elias,bucket=0 fedavg:delay=3 blockint8
      blockint8:block=2048,hadamard=true,memory=residual,scale=f16 blockint4:rounding=stochastic
      qgz:memory=residual sdp4bit fp8 fp8:block=32,format=e5m2,rounding=stochastic,scale=e8m0 mxfp4
      mxfp4:hadamard=true,memory=ef21 powersgd powersgd:memory=none,rank=1
      powersgd:memory=ef21,rank=6,warm=false sparseloco sparseloco:chunk=64,k=6,values=exp4,delay=2
      ef21 thc thc:bits=8,block=64,memory=none demo demo:chunk=16,topk=3,values=sign,memory=ef21
      demo:values=exp4,topk=8 sbc sbc:p=0.01,delay=10 sbc:p=0.05,sample=0.1
      sbc:p=0.1,memory=momentum,positions=run16 topk:ratio=0.1,positions=bitmap
      topk:ratio=0.01,positions=elias_gamma topk:ratio=0.01,positions=elias_delta
      sidco:ratio=0.05,positions=packed topk:ratio=0.01,positions=index28)");
  return specs;
}

/// A matrix as square as the elements allow: methods that look at the shape then see one.
inline std::vector<std::int64_t> matrix_shape(std::size_t elements) {
  std::int64_t rows = 1;
  const auto n = static_cast<std::int64_t>(elements);
  for (std::int64_t side = 1; side * side <= n; ++side) {
    if (n % side == 0) rows = side;
  }
  return {rows, n / rows};
}

inline std::unique_ptr<Compressor> make_of_shape(const std::string& spec,
                                                 std::vector<std::int64_t> shape,
                                                 const CompressorSettings& settings = {},
                                                 const std::string& name = "w") {
  std::size_t elements = 1;
  for (std::int64_t side : shape) elements *= static_cast<std::size_t>(side);
  return make_compressor(parse_spec(spec),
                         {.name = name, .shape = std::move(shape), .elements = elements}, settings);
}

inline std::unique_ptr<Compressor> make(const std::string& spec, std::size_t elements,
                                        const std::string& name = "layer.weight") {
  return make_of_shape(spec, matrix_shape(elements), {}, name);
}

struct Encoded {
  EncodeReport report;
  std::vector<std::byte> payload;
};

/// Returns second moments that fit a gradient; methods that use no second moments ignore them. q /
/// g^2 lies in [0, 2), so about half of the elements are unambiguous.
inline std::vector<float> squares_of(std::span<const float> gradient) {
  SplitMix64 random(gradient.size());
  std::vector<float> squares(gradient.begin(), gradient.end());
  for (float& value : squares) value *= value * static_cast<float>(random.below(1024)) / 512;
  return squares;
}

/// One encode() into a payload of its exact size.
inline Encoded encode(Compressor& compressor, const GradientInput& input) {
  Encoded result;
  result.payload.resize(compressor.max_encoded_size());
  result.report = compressor.encode(input, result.payload);
  result.payload.resize(result.report.encoded_bytes);
  return result;
}

/// Also passes second moments, for the methods that use them.
inline Encoded encode(Compressor& compressor, std::span<const float> gradient,
                      std::uint64_t step = 0) {
  const std::vector<float> squares = squares_of(gradient);
  return encode(compressor, GradientInput{.values = gradient, .squares = squares, .step = step});
}

/// Returns |decoded - c| / |c| of the last encode().
inline double relative_error(const Compressor& compressor, std::span<const float> gradient,
                             std::span<const std::byte> payload) {
  return compressor.distortion({.values = gradient, .squares = {}}, payload).relative();
}

inline std::vector<float> decode(const Compressor& compressor, std::span<const std::byte> payload) {
  std::vector<float> out(compressor.elements(), 0.0F);
  compressor.decode_add(payload, 1.0F, out);
  return out;
}

/// A new compressor's first payload.
inline std::vector<std::byte> first_payload(const std::string& spec,
                                            const std::vector<float>& gradient) {
  return encode(*make(spec, gradient.size()), gradient).payload;
}

/// The values that receivers decode from one encode().
inline std::vector<float> sent_values(Compressor& compressor, std::span<const float> gradient,
                                      std::uint64_t step = 0) {
  return decode(compressor, encode(compressor, gradient, step).payload);
}

inline std::vector<std::byte> state_of(const Compressor& compressor) {
  std::vector<std::byte> state;
  compressor.save_state(state);
  return state;
}

}  // namespace thinpipe::testing
