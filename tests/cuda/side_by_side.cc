#include "tests/cuda/side_by_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace thinpipe::cuda {
namespace {

/// Readable bytes that must follow a payload on the device (device/device_compressor.h).
constexpr std::size_t kSlack = 8;

Shapes vectors_of(const std::vector<std::size_t>& sizes) {
  Shapes shapes;
  for (std::size_t size : sizes) shapes.push_back({static_cast<std::int64_t>(size)});
  return shapes;
}

/// Returns the bits of values, with one bit pattern for all NaNs: which NaN results is up to the
/// hardware.
std::vector<std::uint32_t> words_of(std::span<const float> values) {
  std::vector<std::uint32_t> words;
  for (float value : values) {
    words.push_back(std::bit_cast<std::uint32_t>(
        std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value));
  }
  return words;
}

/// Returns possible second moments of a gradient: from 0 to twice the element's square.
std::vector<float> squares_of(const std::vector<float>& gradient) {
  std::vector<float> squares;
  for (float value : gradient)
    squares.push_back(value * value * static_cast<float>(squares.size() % 9) / 4);
  return squares;
}

}  // namespace

std::vector<TensorInfo> tensors_of(const Shapes& shapes) {
  std::vector<TensorInfo> tensors;
  for (const auto& shape : shapes) {
    std::size_t elements = 1;
    for (const std::int64_t side : shape) elements *= static_cast<std::size_t>(side);
    tensors.push_back(
        {.name = "tensor" + std::to_string(tensors.size()), .shape = shape, .elements = elements});
  }
  return tensors;
}

SideBySide::SideBySide(const TestDevice& device, const std::string& spec,
                       const std::vector<std::size_t>& sizes)
    : SideBySide(device, spec, vectors_of(sizes)) {}

SideBySide::SideBySide(const TestDevice& device, const std::string& spec, const Shapes& shapes)
    : device_(device.device), infos_(tensors_of(shapes)), payloads_(shapes.size()) {
  const Spec parsed = parse_spec(spec);
  for (const TensorInfo& info : infos_) cpu_.push_back(make_compressor(parsed, info, {}));
  gpu_ = device.make(parsed, infos_, {});
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const std::size_t size = infos_[i].elements;
    // Also for malformed payloads, which may have a few bytes more than valid ones.
    const std::size_t bytes = std::max(5 + 8 * size, gpu_->max_encoded_size(i)) + 2 * kSlack;
    // Tensors of a bucket may begin at any float.
    const auto floats = [&](std::size_t before) {
      return static_cast<float*>(device_->allocate((before + size) * sizeof(float))) + before;
    };
    arrays_.push_back({.gradient = floats(i % 2),
                       .out = floats(i % 3),
                       .squares = static_cast<float*>(device_->allocate(size * sizeof(float))),
                       .payload = static_cast<std::byte*>(device_->allocate(bytes))});
  }
}

std::vector<const float*> SideBySide::upload(const std::vector<std::vector<float>>& gradients) {
  std::vector<const float*> addresses;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    device_->upload(arrays_[i].gradient, gradients[i].data(), gradients[i].size() * sizeof(float));
    addresses.push_back(arrays_[i].gradient);
  }
  return addresses;
}

void SideBySide::step(const std::vector<std::vector<float>>& gradients) {
  const std::vector<const float*> addresses = upload(gradients);
  std::vector<const float*> squares_addresses;
  std::vector<std::vector<float>> squares;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    squares.push_back(squares_of(gradients[i]));
    device_->upload(arrays_[i].squares, squares[i].data(), squares[i].size() * sizeof(float));
    squares_addresses.push_back(arrays_[i].squares);
  }
  if (!exchanges()) return hold(gradients, addresses);
  const std::vector<float> scales = shared_scales(gradients, addresses);
  gpu_->encode(addresses,
               {.step = step_, .shared_scales = scales, .device_squares = squares_addresses});
  const auto reports = gpu_->finish();
  reports_.assign(reports.begin(), reports.end());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    payloads_[i].resize(cpu_[i]->max_encoded_size());
    const EncodeReport report = cpu_[i]->encode({.values = gradients[i],
                                                 .squares = squares[i],
                                                 .step = step_,
                                                 .shared_scale = scales.empty() ? 0 : scales[i]},
                                                payloads_[i]);
    payloads_[i].resize(report.encoded_bytes);
    SCOPED_TRACE("tensor " + std::to_string(i) + " of " + std::to_string(infos_[i].elements) +
                 " elements, step " + std::to_string(step_));
    compare(i, report);
  }
  ++step_;
}

std::vector<float> SideBySide::shared_scales(const std::vector<std::vector<float>>& gradients,
                                             const std::vector<const float*>& addresses) {
  auto* const gpu = dynamic_cast<DeviceSharedScale*>(gpu_.get());
  EXPECT_EQ(dynamic_cast<SharedScale*>(cpu_[0].get()) != nullptr, gpu != nullptr);
  if (gpu == nullptr || step_ % 2 == 0) return {};
  std::vector<float> scales;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    scales.push_back(dynamic_cast<SharedScale&>(*cpu_[i]).prepare(
        {.values = gradients[i], .squares = {}, .step = step_}));
  EXPECT_EQ(words_of(scales), words_of(gpu->prepare(addresses)));
  // As if another worker had a greater scale.
  for (float& scale : scales) scale *= 1.25F;
  return scales;
}

void SideBySide::hold(const std::vector<std::vector<float>>& gradients,
                      const std::vector<const float*>& addresses) {
  gpu_->hold(addresses);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    cpu_[i]->hold({.values = gradients[i], .squares = {}, .step = step_});
    SCOPED_TRACE("tensor " + std::to_string(i) + " accumulated in step " + std::to_string(step_));
    compare_states(i);
  }
  ++step_;
}

void SideBySide::compare_states(std::size_t tensor) {
  std::vector<std::byte> state, other;
  cpu_[tensor]->save_state(state);
  gpu_->save_state(tensor, other);
  EXPECT_TRUE(state == other) << "states differ";
}

void SideBySide::compare(std::size_t tensor, const EncodeReport& cpu) {
  const EncodeReport& gpu = reports_[tensor];
  const std::vector<std::byte>& payload = payloads_[tensor];
  const std::size_t elements = infos_[tensor].elements;
  EXPECT_EQ(cpu.target_elements, gpu.target_elements);
  ASSERT_EQ(cpu.selected_elements, gpu.selected_elements);
  EXPECT_TRUE(std::memcmp(&cpu.threshold, &gpu.threshold, sizeof cpu.threshold) == 0 ||
              (std::isnan(cpu.threshold) && std::isnan(gpu.threshold)))
      << cpu.threshold << " and " << gpu.threshold;
  ASSERT_EQ(cpu.encoded_bytes, gpu.encoded_bytes);
  EXPECT_EQ(cpu_[tensor]->max_encoded_size(), gpu_->max_encoded_size(tensor));
  ASSERT_TRUE(payload == fetched(*device_, gpu_->device_payload(tensor), payload.size()));
  compare_states(tensor);
  std::vector<float> decoded(elements, 0.5F);
  const DeviceArrays& arrays = arrays_[tensor];
  device_->upload(arrays.out, decoded.data(), elements * sizeof(float));
  device_->upload(arrays.payload, payload.data(), payload.size());
  cpu_[tensor]->decode_add(payload, 0.25F, decoded);
  gpu_->decode_add(tensor, arrays.payload, payload.size(), 0.25F, arrays.out);
  EXPECT_EQ(words_of(decoded), words_of(fetched(*device_, arrays.out, elements)));
}

bool SideBySide::refuses(const std::vector<std::byte>& payload) {
  const std::size_t elements = infos_[0].elements;
  std::vector<float> decoded(elements, 0.0F);
  device_->upload(arrays_[0].out, decoded.data(), elements * sizeof(float));
  device_->upload(arrays_[0].payload, payload.data(), payload.size());
  const auto throws = [](auto decode) {
    try {
      decode();
    } catch (const PayloadError&) {
      return true;
    }
    return false;
  };
  const bool cpu = throws([&] { cpu_[0]->decode_add(payload, 1, decoded); });
  const bool gpu =
      throws([&] { gpu_->decode_add(0, arrays_[0].payload, payload.size(), 1, arrays_[0].out); });
  EXPECT_EQ(cpu, gpu);
  if (!cpu) {
    EXPECT_EQ(words_of(decoded), words_of(fetched(*device_, arrays_[0].out, elements)));
  }
  return gpu;
}

std::vector<std::string> gpu_specs() {
  return words_in(R"(
    threshold:tau=0.01 threshold:tau=0 threshold:tau=0.01,memory=none threshold:tau=0.02,decay=0.75
    topk:ratio=0.01 topk:ratio=0.3 topk:ratio=1 topk:ratio=0.001,memory=momentum
    topk:ratio=0.02,memory=momentum,nesterov=true,masking=false topk:ratio=0.01,memory=none
    sidco:ratio=0.01 sidco:ratio=0.5 sidco:ratio=0.01,memory=none sidco:ratio=0.001,stages=2
    sidco:ratio=0.001,stages=3 sidco:ratio=0.001,stages=6
    sidco:ratio=0.01,q=1,adapt=climb,memory=momentum sidco:ratio=0.001,stages=3,location=min
    sidco:ratio=0.01,q=1,location=min sidco:ratio=0.001,dist=gpareto,stages=4,location=min
    sidco:ratio=0.01,q=1,adapt=published2 sidco:ratio=0.01,q=1,adapt=published3,memory=none
    sidco:ratio=0.001,dist=gamma,stages=2,location=min,memory=none sidco:ratio=0.01,dist=gpareto
    sidco:ratio=0.001,dist=gpareto,stages=3 sidco:ratio=0.01,dist=gamma,memory=none
    sidco:ratio=0.001,dist=gamma,stages=4 sidco:ratio=0.01,dist=gamma,inverse=exact
    sidco:ratio=0.001,dist=gamma,inverse=exact,stages=3,memory=none redsync:ratio=0.01
    redsync:ratio=0.1,memory=none redsync:ratio=0.001 redsync:ratio=0.01,variant=trim
    redsync:ratio=0.3,variant=trim,memory=none gaussiank:ratio=0.01 gaussiank:ratio=0.4,memory=none
    gaussiank:ratio=0.01,variant=oktopk sparseloco sparseloco:chunk=64,k=5,values=fp32
    sparseloco:chunk=256,k=300,memory=ef21 sparseloco:chunk=1024,k=32,positions=golomb,memory=none
    sparseloco:chunk=16384,k=200,values=int8 sparseloco:chunk=65536,k=50,values=exp4
    sparseloco:chunk=64,k=20,values=exp4,delay=2 variance
    variance:alpha=2,memory=residual,values=fp32,positions=raw32 hybrid:tau=0.02
    hybrid:tau=0.01,memory=none,positions=bitmap topk:ratio=0.1,values=exp4
    sbc:p=0.05,values=exp4,positions=run16 sidco:ratio=0.01,stages=3,values=exp4,positions=golomb
    sbc:p=0.02,sample=0.05,clip=0.5,delay=2 sbc:p=0.01
    sbc:p=0.2,memory=none,values=fp32,positions=raw32 sbc:p=0.01,sample=0.1 sbc:p=1,memory=momentum
    mstopk:ratio=0.01 mstopk:ratio=0.3,rounds=50,memory=none mstopk:ratio=0.05,rounds=4
    gradientdropping:ratio=0.05 gradientdropping:ratio=0.05,sample=0.1
    dgc:ratio=0.01,positions=raw32 dgc:ratio=0.1,positions=raw32,sampling=strided,memory=residual
    dgc:ratio=0.02,positions=raw32,sampling=lines,sample=0.05
    dgc:ratio=0.001,positions=raw32,memory=none dgc:ratio=0.01 strom
    strom:tau=0.02,memory=none,values=fp32 randomk
    randomk:ratio=0.7,positions=bitmap,memory=momentum randomk:ratio=0.2,scale=true,memory=none
    topk:ratio=0.02,values=fp16,positions=index28 topk:ratio=0.3,values=bf16,positions=bitmap
    topk:ratio=0.0005,values=mean,positions=run16 topk:ratio=0.01,values=sign,positions=golomb
    topk:ratio=0.9,values=int8,positions=golomb topk:ratio=0.01,values=int2,positions=packed
    topk:ratio=0.9,values=int2,positions=elias_gamma
    topk:ratio=0.3,values=int2,memory=none,positions=elias_delta sidco:ratio=0.001,positions=packed
    topk:ratio=1,positions=packed,memory=ef21 topk:ratio=0.0005,positions=elias_gamma
    threshold:tau=0.01,positions=elias_delta
    topk:ratio=0.0001,values=int8,positions=golomb,memory=none none fp16 fp16:memory=residual
    bf16:memory=momentum int8 int8:memory=residual,decay=0.5 signsgd:scale=0.01
    signsgd:scale=0.01,memory=residual 3lc 3lc:s=1.75 3lc:zre=false 3lc:s=1.9,memory=none
    3lc:bucket=50,s=1.5 3lc:bucket=64,s=1.9,memory=ef21 3lc:bucket=4096 3lc:bucket=333,zre=false
    3lc:bucket=1,memory=none 3lc:bucket=7,s=1.9 3lc:bucket=31,zre=false stoch3
    stoch3:memory=residual natural natural:memory=residual int8:bucket=64,memory=residual
    int8:bucket=777 int8:bucket=1 int8:bucket=31,memory=residual efsignsgd efsignsgd:memory=none
    efsignsgd:bucket=100 efsignsgd:bucket=4096 efsignsgd:bucket=9 mqe1bit mqe1bit:bucket=3000
    mqe1bit:bucket=33,memory=none mqe1bit:bucket=2 onebit onebit:memory=momentum terngrad
    terngrad:sigma=0,memory=residual terngrad:sigma=1,shared=false,bucket=1000
    terngrad:sigma=0,shared=false,bucket=50,memory=residual
    terngrad:sigma=1,shared=false,bucket=17,memory=residual qsgd
    qsgd:bits=8,bucket=0,memory=residual qsgd:bits=5,bucket=333,memory=residual qsgd:bits=2,bucket=0
    qsgd:bits=3,bucket=5,memory=residual 3lc:bucket=5000,s=1.5
    3lc:bucket=40000,zre=false,memory=ef21 int8:bucket=4097
    int8:bucket=16384,memory=residual,clip=0.5 efsignsgd:bucket=5001
    efsignsgd:bucket=16777216,memory=momentum mqe1bit:bucket=33000
    mqe1bit:bucket=4100,memory=ef21,delay=2 terngrad:sigma=2.5,shared=false,bucket=8192
    terngrad:sigma=0,shared=false,bucket=4103,memory=residual
    qsgd:bits=3,bucket=10001,memory=residual qsgd:coding=elias,bits=5,bucket=10001,memory=residual
    qsgd:coding=elias qsgd:coding=elias,bits=8,bucket=0,memory=residual
    qsgd:coding=elias,bits=2,bucket=4096 qsgd:coding=elias,bits=3,bucket=7,memory=ef21
    qsgd:coding=elias,bits=6,bucket=33,memory=residual,clip=0.5 powersgd:exchange=allgather
    powersgd:exchange=allgather,memory=none,rank=1,warm=false
    powersgd:exchange=allgather,memory=ef21,rank=6,clip=0.5
    powersgd:exchange=allgather,rank=2,delay=2 powersgd:rank=3 demo
    demo:chunk=16,topk=5,values=int2,memory=ef21 demo:chunk=32,topk=40,values=exp4,decay=0.5
    demo:values=fp16,memory=momentum,delay=2 demo:chunk=16,topk=1,values=sign,memory=none,clip=0.5
    topk:ratio=0.02,memory=clear topk:ratio=0.02,values=mean,memory=clear
    topk:ratio=0.02,values=fp16,memory=ef21 topk:ratio=0.02,values=int8,memory=none,delay=2,clip=0.5
    randomk:ratio=0.05,memory=ef21,clip=0.5 sbc:p=0.01,memory=residual,delay=2,clip=0.5
    topk:ratio=0.02,clip=0.5,workers=4 topk:ratio=0.02,memory=none,clip=0.5
    topk:ratio=0.02,delay=3,decay=0.5 topk:ratio=0.02,memory=none,delay=2
    topk:ratio=0.02,memory=momentum,delay=2,clip=1 ef21 ef21:delay=2,clip=0.5
    sidco:ratio=0.01,memory=ef21 dgc:ratio=0.01,positions=raw32,clip=0.25,memory=none fedavg:delay=2
    fedavg:delay=2,memory=momentum,nesterov=true fedavg:delay=1,memory=ef21 int8:memory=ef21
    int8:memory=clear,decay=0.5,delay=2,clip=0.5 3lc:memory=ef21,delay=2
    natural:memory=none,clip=0.5 qsgd:memory=ef21 efsignsgd:memory=ef21,clip=0.25 onebit:delay=3
    terngrad:memory=none,delay=2 thc:memory=ef21 sdp4bit:memory=ef21,clip=0.5,delay=2 blockint8
    blockint8:scale=f16,block=64,memory=residual blockint8:scale=e8m0,rounding=stochastic
    blockint4:memory=residual,decay=0.5 blockint4:block=2048,rounding=stochastic,memory=residual
    qgz:memory=momentum sdp4bit sdp4bit:memory=residual,scale=f16
    sdp4bit:block=32,rounding=stochastic,memory=residual fp8 fp8:format=e5m2,memory=residual
    fp8:scale=e8m0,block=32,rounding=stochastic,memory=residual
    fp8:format=e5m2,hadamard=true,block=1024,rounding=stochastic,scale=f16 mxfp4
    mxfp4:memory=residual,rounding=stochastic mxfp4:hadamard=true,block=512,memory=residual thc
    thc:bits=8,block=64,memory=none thc:range=0.5,block=32 thc:memory=momentum)");
}

}  // namespace thinpipe::cuda
