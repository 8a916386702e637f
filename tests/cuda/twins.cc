#include "tests/cuda/twins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/splitmix64.h"

namespace thinpipe::cuda {
namespace {

/// Bytes that a payload on a device must have more than it needs (device/device_compressor.h).
constexpr std::size_t kSlack = 8;

std::vector<std::vector<std::int64_t>> vectors_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t size : sizes) shapes.push_back({static_cast<std::int64_t>(size)});
  return shapes;
}

/// Which NaN comes of an operation is left to the processor.
std::vector<std::uint32_t> words_of(std::span<const float> values) {
  std::vector<std::uint32_t> words;
  for (float value : values) {
    words.push_back(std::bit_cast<std::uint32_t>(
        std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value));
  }
  return words;
}

/// Second moments as a gradient may have them: from 0 to twice its own square.
std::vector<float> squares_of(const std::vector<float>& gradient) {
  std::vector<float> squares;
  for (float value : gradient)
    squares.push_back(value * value * static_cast<float>(squares.size() % 9) / 4);
  return squares;
}

}  // namespace

Twins::Twins(std::shared_ptr<DeviceMemory> device, const Make& make, const std::string& spec,
             const std::vector<std::size_t>& sizes)
    : Twins(std::move(device), make, spec, vectors_of(sizes)) {}

Twins::Twins(std::shared_ptr<DeviceMemory> device, const Make& make, const std::string& spec,
             const std::vector<std::vector<std::int64_t>>& shapes)
    : device_(std::move(device)), payloads_(shapes.size()) {
  const Spec parsed = parse_spec(spec);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::int64_t elements = 1;
    for (std::int64_t side : shapes[i]) elements *= side;
    infos_.push_back({.name = "tensor" + std::to_string(i),
                      .shape = shapes[i],
                      .elements = static_cast<std::size_t>(elements)});
    here_.push_back(make_compressor(parsed, infos_.back(), {}));
  }
  there_ = make(parsed, infos_);
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const std::size_t size = infos_[i].elements;
    // For malformed payloads as well, of a few bytes more than any that is well formed.
    const std::size_t bytes = std::max(5 + 8 * size, there_->max_encoded_size(i)) + 2 * kSlack;
    rooms_.push_back({.gradient = static_cast<float*>(device_->allocate(size * sizeof(float))),
                      .out = static_cast<float*>(device_->allocate(size * sizeof(float))),
                      .squares = static_cast<float*>(device_->allocate(size * sizeof(float))),
                      .payload = static_cast<std::byte*>(device_->allocate(bytes))});
  }
}

template <class T>
std::vector<T> Twins::fetched(const T* device_values, std::size_t count) {
  std::vector<T> values(count);
  device_->download(values.data(), device_values, count * sizeof(T));
  device_->wait();
  return values;
}

void Twins::step(const std::vector<std::vector<float>>& gradients) {
  std::vector<const float*> addresses, squares_addresses;
  std::vector<std::vector<float>> squares;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    device_->upload(rooms_[i].gradient, gradients[i].data(), gradients[i].size() * sizeof(float));
    addresses.push_back(rooms_[i].gradient);
    squares.push_back(squares_of(gradients[i]));
    device_->upload(rooms_[i].squares, squares[i].data(), squares[i].size() * sizeof(float));
    squares_addresses.push_back(rooms_[i].squares);
  }
  if (const std::uint64_t period = here_[0]->period(); (step_ + 1) % period != 0)
    return hold(gradients, addresses);
  const std::vector<float> scales = shared_scales(gradients, addresses);
  there_->encode(addresses,
                 {.step = step_, .shared_scales = scales, .device_squares = squares_addresses});
  const auto reports = there_->finish();
  reports_.assign(reports.begin(), reports.end());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    payloads_[i].resize(here_[i]->max_encoded_size());
    const EncodeReport report = here_[i]->encode({.values = gradients[i],
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

std::vector<float> Twins::shared_scales(const std::vector<std::vector<float>>& gradients,
                                        const std::vector<const float*>& addresses) {
  EXPECT_EQ(here_[0]->shares_scale(), there_->shares_scale());
  if (!here_[0]->shares_scale() || step_ % 2 == 0) return {};
  std::vector<float> scales;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    scales.push_back(here_[i]->prepare({.values = gradients[i], .squares = {}, .step = step_}));
  EXPECT_EQ(words_of(scales), words_of(there_->prepare(addresses)));
  // As if another worker had a greater one.
  for (float& scale : scales) scale *= 1.25F;
  return scales;
}

void Twins::hold(const std::vector<std::vector<float>>& gradients,
                 const std::vector<const float*>& addresses) {
  there_->hold(addresses);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    here_[i]->hold({.values = gradients[i], .squares = {}, .step = step_});
    SCOPED_TRACE("tensor " + std::to_string(i) + " held in step " + std::to_string(step_));
    compare_states(i);
  }
  ++step_;
}

void Twins::compare_states(std::size_t tensor) {
  std::vector<std::byte> state, other;
  here_[tensor]->save_state(state);
  there_->save_state(tensor, other);
  EXPECT_TRUE(state == other) << "states differ";
}

void Twins::compare(std::size_t tensor, const EncodeReport& here) {
  const EncodeReport& there = reports_[tensor];
  const std::vector<std::byte>& payload = payloads_[tensor];
  const std::size_t elements = infos_[tensor].elements;
  EXPECT_EQ(here.target_elements, there.target_elements);
  ASSERT_EQ(here.selected_elements, there.selected_elements);
  EXPECT_TRUE(std::memcmp(&here.threshold, &there.threshold, sizeof here.threshold) == 0 ||
              (std::isnan(here.threshold) && std::isnan(there.threshold)))
      << here.threshold << " and " << there.threshold;
  ASSERT_EQ(here.encoded_bytes, there.encoded_bytes);
  EXPECT_EQ(here_[tensor]->max_encoded_size(), there_->max_encoded_size(tensor));
  ASSERT_TRUE(payload == fetched(there_->device_payload(tensor), payload.size()));
  if (const float* residual = there_->device_residual(tensor)) {
    EXPECT_EQ(words_of(here_[tensor]->residual()), words_of(fetched(residual, elements)));
  }
  compare_states(tensor);
  std::vector<float> decoded(elements, 0.5F);
  const Room& room = rooms_[tensor];
  device_->upload(room.out, decoded.data(), elements * sizeof(float));
  device_->upload(room.payload, payload.data(), payload.size());
  here_[tensor]->decode_add(payload, 0.25F, decoded);
  there_->decode_add(tensor, room.payload, payload.size(), 0.25F, room.out);
  EXPECT_EQ(words_of(decoded), words_of(fetched(room.out, elements)));
}

bool Twins::refuses(const std::vector<std::byte>& payload) {
  const std::size_t elements = infos_[0].elements;
  std::vector<float> decoded(elements, 0.0F);
  device_->upload(rooms_[0].out, decoded.data(), elements * sizeof(float));
  device_->upload(rooms_[0].payload, payload.data(), payload.size());
  const auto throws = [](auto decode) {
    try {
      decode();
    } catch (const PayloadError&) {
      return true;
    }
    return false;
  };
  const bool here = throws([&] { here_[0]->decode_add(payload, 1, decoded); });
  const bool there =
      throws([&] { there_->decode_add(0, rooms_[0].payload, payload.size(), 1, rooms_[0].out); });
  EXPECT_EQ(here, there);
  if (!here) {
    EXPECT_EQ(words_of(decoded), words_of(fetched(rooms_[0].out, elements)));
  }
  return there;
}

Twins opened(const OpenDevice& open, const std::string& spec, const std::vector<std::size_t>& sizes,
             std::uint64_t seed) {
  const TwinDevice device = open(seed);
  return Twins(device.device, device.make, spec, sizes);
}

}  // namespace thinpipe::cuda
