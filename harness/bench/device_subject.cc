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

// Twice the cache: what comes again is then gone, whatever the replacement does.
std::size_t inputs_needed(std::size_t cache, std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  return std::max<std::size_t>(1, (2 * cache + bytes - 1) / bytes);
}

// Both a number that is the same, or none.
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
  // Steps of the golden section spread the beginnings evenly, whatever their number.
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
      there_(device.make(spec, {&inputs.tensor(), 1}, settings)),
      kept_there_(
          static_cast<std::byte*>(device.memory->allocate(there_->max_encoded_size(0) + kSlack))) {}

void DeviceSubject::open_here() {
  here_ = make_compressor(spec_, inputs_->tensor(), settings_);
  gradient_.resize(inputs_->elements());
  payload_.resize(here_->max_encoded_size());
}

void DeviceSubject::close_here() {
  here_.reset();
  gradient_ = {};
  payload_ = {};
}

EncodeReport DeviceSubject::encode_there() {
  const float* const gradient = inputs_->gradient(step_);
  there_->encode({&gradient, 1}, {.step = step_});
  return there_->finish().front();
}

void DeviceSubject::encode() {
  encode_there();
  ++step_;
}

void DeviceSubject::decode() {
  there_->decode_add(0, kept_there_, kept_bytes_, 1.0F, inputs_->output(decoded_));
  ++decoded_;
}

std::vector<std::byte> DeviceSubject::payload_there(std::size_t bytes) const {
  std::vector<std::byte> payload(bytes);
  device_.memory->download(payload.data(), there_->device_payload(0), bytes);
  device_.memory->wait();
  return payload;
}

void DeviceSubject::encode_on_both() {
  inputs_->values(step_, gradient_);
  const EncodeReport there = encode_there();
  report_ = here_->encode({.values = gradient_, .squares = {}, .step = step_}, payload_);
  const std::size_t bytes = report_.encoded_bytes;
  if (there.encoded_bytes != bytes || there.selected_elements != report_.selected_elements ||
      there.target_elements != report_.target_elements ||
      !same_number(there.threshold, report_.threshold)) {
    throw ValidationError(
        fmt::format("step {}: {} bytes with {} elements over {:.9g} on the device, {} bytes with "
                    "{} over {:.9g} "
                    "on the processor",
                    step_, there.encoded_bytes, there.selected_elements, there.threshold, bytes,
                    report_.selected_elements, report_.threshold));
  }
  const std::vector<std::byte> payload = payload_there(bytes);
  const auto differs = std::mismatch(payload.begin(), payload.end(), payload_.begin()).first;
  if (differs != payload.end()) {
    throw ValidationError(
        fmt::format("step {}: the payload differs from the processor's, first in byte {} of {}",
                    step_, differs - payload.begin(), bytes));
  }
}

// Compares both decoders on the kept payload.
void DeviceSubject::compare_decoded() {
  const std::size_t bytes = inputs_->elements() * sizeof(float);
  float* const output = inputs_->output(0);
  device_.memory->zero(output, bytes);
  there_->decode_add(0, kept_there_, kept_bytes_, 1.0F, output);
  std::vector<float> there(inputs_->elements()), here(inputs_->elements(), 0.0F);
  device_.memory->download(there.data(), output, bytes);
  device_.memory->wait();
  here_->decode_add(std::span(payload_).first(kept_bytes_), 1.0F, here);
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(here[i]) != std::bit_cast<std::uint32_t>(there[i])) {
      throw ValidationError(
          fmt::format("element {} is decoded to {} on the device, to {} on the "
                      "processor",
                      i, there[i], here[i]));
    }
  }
}

Quality DeviceSubject::warm_up(int steps) {
  open_here();
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
    sum.relative_error += here_->distortion(input, std::span(payload_).first(bytes)).relative();
  }
  kept_bytes_ = report_.encoded_bytes;
  device_.memory->upload(kept_there_, payload_.data(), kept_bytes_);
  compare_decoded();
  close_here();
  const double counted = steps - settled;
  return {sum.selected_share / counted, sum.bits_per_element / counted,
          sum.relative_error / counted, sum.passes / counted};
}

void DeviceSubject::validate_last() {
  std::vector<std::byte> state;
  there_->save_state(0, state);
  open_here();
  here_->load_state(state);
  encode_on_both();
  close_here();
  ++step_;
}

}  // namespace thinpipe
