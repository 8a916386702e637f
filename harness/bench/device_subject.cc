#include "harness/bench/device_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "compressors/registry.h"

namespace thinpipe {
namespace {

// A device's kernels read a payload by words (device/device_compressor.h).
constexpr std::size_t kSlack = 8;

// Twice the cache evicts every input before it is read again, whatever the replacement policy.
std::size_t inputs_needed(std::size_t cache, std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  return std::max<std::size_t>(1, (2 * cache + bytes - 1) / bytes);
}

// Returns true for equal numbers, and for two NaNs.
bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

DeviceInputs::DeviceInputs(const TimedDevice& device, TensorInfo tensor,
                           std::span<const float> values, Residency residency)
    : tensor_(std::move(tensor)), values_(values), residency_(residency) {
  const std::size_t count =
      residency == Residency::kCache ? 1 : inputs_needed(device.description.l2_bytes, elements());
  const std::size_t bytes = elements() * sizeof(float);
  gradients_.assign(count, nullptr);
  std::vector<float> turned(elements());
  for (std::size_t i = 0; i < count; ++i) {
    gradients_[i] = static_cast<float*>(device.memory->allocate(bytes));
    outputs_.push_back(static_cast<float*>(device.memory->allocate(bytes)));
    this->values(i, turned);
    device.memory->upload(gradients_[i], turned.data(), bytes);
    device.memory->wait();
  }
}

void DeviceInputs::values(std::size_t step, std::span<float> out) const {
  if (values_.empty()) return;
  // Steps of the golden section spread the beginnings evenly for any number of inputs.
  const auto turn = static_cast<std::size_t>(0.6180339887 * static_cast<double>(elements()));
  const std::size_t begin = step % rotation() * turn % elements();
  std::rotate_copy(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(begin),
                   values_.end(), out.begin());
}

DeviceSubject::DeviceSubject(const TimedDevice& device, const Spec& spec,
                             const CompressorSettings& settings, const DeviceInputs& inputs)
    : device_(device),
      spec_(spec),
      settings_(settings),
      inputs_(&inputs),
      on_device_(device.make(spec, {&inputs.tensor(), 1}, settings)),
      kept_on_device_(static_cast<std::byte*>(
          device.memory->allocate(on_device_->max_encoded_size(0) + kSlack))) {}

void DeviceSubject::make_cpu_compressor() {
  on_cpu_ = make_compressor(spec_, inputs_->tensor(), settings_);
  gradient_.resize(inputs_->elements());
  payload_.resize(on_cpu_->max_encoded_size());
}

void DeviceSubject::free_cpu_compressor() {
  on_cpu_.reset();
  gradient_ = {};
  payload_ = {};
}

EncodeReport DeviceSubject::encode_on_device() {
  const float* const gradient = inputs_->gradient(step_);
  on_device_->encode({&gradient, 1}, {.step = step_});
  return on_device_->finish().front();
}

void DeviceSubject::encode() {
  encode_on_device();
  ++step_;
}

void DeviceSubject::decode() {
  on_device_->decode_add(0, kept_on_device_, kept_bytes_, 1.0F, inputs_->output(decoded_));
  ++decoded_;
}

std::vector<std::byte> DeviceSubject::download_payload(std::size_t bytes) const {
  std::vector<std::byte> payload(bytes);
  device_.memory->download(payload.data(), on_device_->device_payload(0), bytes);
  device_.memory->wait();
  return payload;
}

void DeviceSubject::encode_on_both() {
  inputs_->values(step_, gradient_);
  const EncodeReport found = encode_on_device();
  report_ = on_cpu_->encode({.values = gradient_, .squares = {}, .step = step_}, payload_);
  const std::size_t bytes = report_.encoded_bytes;
  if (found.encoded_bytes != bytes || found.selected_elements != report_.selected_elements ||
      found.target_elements != report_.target_elements ||
      !same_number(found.threshold, report_.threshold)) {
    throw ValidationError(
        fmt::format("step {}: {} bytes with {} elements over {:.9g} on the GPU, but {} bytes with "
                    "{} over {:.9g} on the CPU",
                    step_, found.encoded_bytes, found.selected_elements, found.threshold, bytes,
                    report_.selected_elements, report_.threshold));
  }
  const std::vector<std::byte> payload = download_payload(bytes);
  const auto differs = std::mismatch(payload.begin(), payload.end(), payload_.begin()).first;
  if (differs != payload.end()) {
    throw ValidationError(fmt::format(
        "step {}: the payload differs from the CPU implementation's, first in byte {} of {}", step_,
        differs - payload.begin(), bytes));
  }
}

// Compares both decoders on the kept payload.
void DeviceSubject::compare_decoded() {
  const std::size_t bytes = inputs_->elements() * sizeof(float);
  float* const output = inputs_->output(0);
  device_.memory->zero(output, bytes);
  on_device_->decode_add(0, kept_on_device_, kept_bytes_, 1.0F, output);
  std::vector<float> found(inputs_->elements()), expected(inputs_->elements(), 0.0F);
  device_.memory->download(found.data(), output, bytes);
  device_.memory->wait();
  on_cpu_->decode_add(std::span(payload_).first(kept_bytes_), 1.0F, expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(expected[i]) != std::bit_cast<std::uint32_t>(found[i])) {
      throw ValidationError(
          fmt::format("element {} is decoded to {} on the GPU, but to {} on the CPU", i, found[i],
                      expected[i]));
    }
  }
}

Quality DeviceSubject::warm_up(int steps) {
  make_cpu_compressor();
  const int settled = steps / 2;
  Quality sum;
  for (int i = 0; i < steps; ++i, ++step_) {
    encode_on_both();
    if (i < settled) continue;
    const auto bytes = report_.encoded_bytes;
    sum.selected_share += report_.target_elements == 0
                              ? std::numeric_limits<double>::quiet_NaN()
                              : static_cast<double>(report_.selected_elements) /
                                    static_cast<double>(report_.target_elements);
    sum.bits_per_element +=
        8 * static_cast<double>(bytes) / static_cast<double>(inputs_->elements());
    sum.passes += report_.passes;
    const GradientInput input{.values = gradient_, .squares = {}, .step = step_};
    sum.relative_error += on_cpu_->distortion(input, std::span(payload_).first(bytes)).relative();
  }
  kept_bytes_ = report_.encoded_bytes;
  device_.memory->upload(kept_on_device_, payload_.data(), kept_bytes_);
  compare_decoded();
  free_cpu_compressor();
  const double counted = steps - settled;
  return {sum.selected_share / counted, sum.bits_per_element / counted,
          sum.relative_error / counted, sum.passes / counted};
}

void DeviceSubject::validate_last() {
  std::vector<std::byte> state;
  on_device_->save_state(0, state);
  make_cpu_compressor();
  on_cpu_->load_state(state);
  encode_on_both();
  free_cpu_compressor();
  ++step_;
}

}  // namespace thinpipe
