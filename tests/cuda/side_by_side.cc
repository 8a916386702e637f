#include "tests/cuda/side_by_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/splitmix64.h"

namespace thinpipe::cuda {
namespace {

/// Readable bytes that must follow a payload on the device (device/device_compressor.h).
constexpr std::size_t kSlack = 8;

std::vector<std::vector<std::int64_t>> vectors_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<std::int64_t>> shapes;
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

SideBySide::SideBySide(std::shared_ptr<DeviceMemory> device, const Make& make,
                       const std::string& spec, const std::vector<std::size_t>& sizes)
    : SideBySide(std::move(device), make, spec, vectors_of(sizes)) {}

SideBySide::SideBySide(std::shared_ptr<DeviceMemory> device, const Make& make,
                       const std::string& spec,
                       const std::vector<std::vector<std::int64_t>>& shapes)
    : device_(std::move(device)), payloads_(shapes.size()) {
  const Spec parsed = parse_spec(spec);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::int64_t elements = 1;
    for (std::int64_t side : shapes[i]) elements *= side;
    infos_.push_back({.name = "tensor" + std::to_string(i),
                      .shape = shapes[i],
                      .elements = static_cast<std::size_t>(elements)});
    cpu_.push_back(make_compressor(parsed, infos_.back(), {}));
  }
  gpu_ = make(parsed, infos_);
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

template <class T>
std::vector<T> SideBySide::fetched(const T* device_values, std::size_t count) {
  std::vector<T> values(count);
  device_->download(values.data(), device_values, count * sizeof(T));
  device_->wait();
  return values;
}

void SideBySide::step(const std::vector<std::vector<float>>& gradients) {
  std::vector<const float*> addresses, squares_addresses;
  std::vector<std::vector<float>> squares;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    device_->upload(arrays_[i].gradient, gradients[i].data(), gradients[i].size() * sizeof(float));
    addresses.push_back(arrays_[i].gradient);
    squares.push_back(squares_of(gradients[i]));
    device_->upload(arrays_[i].squares, squares[i].data(), squares[i].size() * sizeof(float));
    squares_addresses.push_back(arrays_[i].squares);
  }
  if (const std::uint64_t period = cpu_[0]->period(); (step_ + 1) % period != 0)
    return hold(gradients, addresses);
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
  ASSERT_TRUE(payload == fetched(gpu_->device_payload(tensor), payload.size()));
  if (const float* residual = gpu_->device_residual(tensor)) {
    EXPECT_EQ(words_of(cpu_[tensor]->residual()), words_of(fetched(residual, elements)));
  }
  compare_states(tensor);
  std::vector<float> decoded(elements, 0.5F);
  const DeviceArrays& arrays = arrays_[tensor];
  device_->upload(arrays.out, decoded.data(), elements * sizeof(float));
  device_->upload(arrays.payload, payload.data(), payload.size());
  cpu_[tensor]->decode_add(payload, 0.25F, decoded);
  gpu_->decode_add(tensor, arrays.payload, payload.size(), 0.25F, arrays.out);
  EXPECT_EQ(words_of(decoded), words_of(fetched(arrays.out, elements)));
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
    EXPECT_EQ(words_of(decoded), words_of(fetched(arrays_[0].out, elements)));
  }
  return gpu;
}

SideBySide opened(const OpenDevice& open, const std::string& spec,
                  const std::vector<std::size_t>& sizes, std::uint64_t seed) {
  const TestDevice device = open(seed);
  return SideBySide(device.device, device.make, spec, sizes);
}

}  // namespace thinpipe::cuda
