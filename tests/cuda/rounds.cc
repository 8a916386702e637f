// GPU compressors whose step takes several all-reduces, compared with the CPU implementation.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns the mean of a worker's values and drawn values, so that it differs from the worker's.
std::vector<float> mean_with_others(const std::vector<std::byte>& own, std::uint64_t seed) {
  std::vector<float> mean(own.size() / sizeof(float));
  if (!own.empty()) std::memcpy(mean.data(), own.data(), own.size());
  const std::vector<float> others = drawn(mean.size(), seed);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + others[i]) / 2;
  return mean;
}

// One of several workers on both implementations; the other workers' values are drawn.
class WorkerSideBySide {
 public:
  WorkerSideBySide(const TestDevice& device, const std::string& spec, const Shapes& shapes)
      : device_(device.device) {
    const Spec parsed = parse_spec(spec);
    const std::vector<TensorInfo> infos = tensors_of(shapes);
    for (const TensorInfo& info : infos) cpu_.push_back(make_compressor(parsed, info, {}));
    gpu_ = device.make(parsed, infos, {});
    for (std::size_t i = 0; i < infos.size(); ++i) {
      sent_.emplace_back(cpu_[i]->max_encoded_size());
      gradients_.push_back(array(infos[i].elements));
      means_.push_back(array(cpu_[i]->max_encoded_size() / sizeof(float)));
    }
  }

  std::size_t tensors() const { return cpu_.size(); }
  std::size_t elements(std::size_t tensor) const { return cpu_[tensor]->elements(); }
  DeviceMultiRound& gpu() { return dynamic_cast<DeviceMultiRound&>(*gpu_); }
  // Returns the number of tensors that take more than one round.
  std::size_t matrices() const {
    std::size_t count = 0;
    for (const auto& one : cpu_) count += rounds_of(*one) > 1 ? 1 : 0;
    return count;
  }

  /// @param spoilt  the round whose means contain an infinity; 0: none
  void step(const std::vector<std::vector<float>>& gradients, std::uint64_t number, int spoilt) {
    for (std::size_t i = 0; i < tensors(); ++i) upload(gradients_[i], gradients[i]);
    const bool sends = (number + 1) % cpu_[0]->period() == 0;
    if (!sends) {
      gpu_->hold(addresses(gradients_));
      for (std::size_t i = 0; i < tensors(); ++i)
        cpu_[i]->hold({.values = gradients[i], .squares = {}, .step = number});
      return compare_states();
    }
    gpu().first_round(addresses(gradients_), {.step = number});
    auto reports = gpu_->finish();
    for (std::size_t i = 0; i < tensors(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i) + ", first round");
      const GradientInput input{.values = gradients[i], .squares = {}, .step = number};
      sent_[i].resize(cpu_[i]->max_encoded_size());
      const EncodeReport report = several(i) != nullptr ? several(i)->first_round(input, sent_[i])
                                                        : cpu_[i]->encode(input, sent_[i]);
      EXPECT_EQ(report.selected_elements, reports[i].selected_elements);
      compare(i, report.encoded_bytes, reports[i]);
    }
    ASSERT_EQ(gpu().rounds(), 2);
    for (int round = 1; round <= 2; ++round) next(round, number, spoilt);
    for (std::size_t i = 0; i < tensors(); ++i) finish(i);
    compare_states();
  }

 private:
  // Returns null where the tensor takes one round.
  MultiRound* several(std::size_t tensor) const {
    return dynamic_cast<MultiRound*>(cpu_[tensor].get());
  }
  float* array(std::size_t floats) {
    // Decoding needs readable bytes after a payload.
    return static_cast<float*>(device_->allocate((floats + 1) * sizeof(float)));
  }
  static std::vector<const float*> addresses(const std::vector<float*>& arrays) {
    return {arrays.begin(), arrays.end()};
  }
  void upload(float* device_values, const std::vector<float>& values) {
    device_->upload(device_values, values.data(), values.size() * sizeof(float));
    device_->wait();
  }
  template <class T>
  std::vector<T> fetched(const T* device_values, std::size_t count) {
    std::vector<T> values(count);
    device_->download(values.data(), device_values, count * sizeof(T));
    device_->wait();
    return values;
  }
  static bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  }

  void compare(std::size_t tensor, std::size_t bytes, const EncodeReport& gpu) {
    sent_[tensor].resize(bytes);
    ASSERT_EQ(bytes, gpu.encoded_bytes);
    EXPECT_TRUE(sent_[tensor] == fetched(gpu_->device_payload(tensor), bytes));
  }

  void next(int round, std::uint64_t number, int spoilt) {
    std::vector<std::vector<float>> means;
    for (std::size_t i = 0; i < tensors(); ++i) {
      means.push_back(mean_with_others(sent_[i], 1000 * number + 10 * i + std::uint64_t(round)));
      if (round == spoilt && means[i].size() > 2) means[i][2] = kInfinity;
      upload(means_[i], means[i]);
    }
    gpu().next_round(addresses(means_));
    const auto reports = gpu_->finish();
    for (std::size_t i = 0; i < tensors(); ++i) {
      if (several(i) == nullptr) continue;
      SCOPED_TRACE("tensor " + std::to_string(i) + ", after round " + std::to_string(round));
      sent_[i].resize(cpu_[i]->max_encoded_size());
      compare(i, several(i)->next_round(means[i], sent_[i]), reports[i]);
    }
  }

  void finish(std::size_t i) {
    if (several(i) == nullptr) return;
    SCOPED_TRACE("tensor " + std::to_string(i) + ", at the end");
    std::vector<std::byte> own(cpu_[i]->max_encoded_size()), other(own.size());
    ASSERT_EQ(several(i)->own_payload(own), own.size());
    gpu().own_payload(i, other);
    EXPECT_TRUE(own == other) << "own contributions differ";
    std::vector<float> decoded(elements(i), 0.0F);
    cpu_[i]->decode_add(sent_[i], 1.0F, decoded);
    float* const out = gradients_[i];  // no longer needed
    upload(out, std::vector<float>(elements(i), 0.0F));
    gpu_->decode_add(i, gpu_->device_payload(i), sent_[i].size(), 1.0F, out);
    EXPECT_TRUE(same_bits(decoded, fetched<float>(out, elements(i)))) << "aggregates differ";
  }

  void compare_states() {
    for (std::size_t i = 0; i < tensors(); ++i) {
      std::vector<std::byte> state, other;
      cpu_[i]->save_state(state);
      gpu_->save_state(i, other);
      EXPECT_TRUE(state == other) << "states of tensor " << i << " differ";
    }
  }

  std::shared_ptr<DeviceMemory> device_;
  std::vector<std::unique_ptr<Compressor>> cpu_;
  std::unique_ptr<DeviceCompressor> gpu_;
  std::vector<std::vector<std::byte>> sent_;
  std::vector<float*> gradients_, means_;
};

}  // namespace

void expect_same_bytes_in_rounds(const OpenDevice& open) {
  // Includes matrices of one column and one row, vectors, and tensors that factors would not make
  // smaller.
  const Shapes shapes = {{64, 100}, {1, 50},  {130, 3},       {100},    {200, 333},
                         {0, 7},    {2, 600}, {129, 4, 8, 8}, {600, 20}};
  for (const char* spec :
       {"powersgd", "powersgd:rank=1,memory=none", "powersgd:rank=2,delay=2,clip=0.5",
        "powersgd:rank=5,warm=false,memory=ef21", "powersgd:rank=9,memory=momentum"}) {
    SCOPED_TRACE(spec);
    WorkerSideBySide both(open(1), spec, shapes);
    ASSERT_GE(both.matrices(), 3U);
    for (std::uint64_t step = 0; step < 8; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        all.push_back(drawn(both.elements(i), 100 * step + i));
        if (step == 5 && all.back().size() > 20) all.back()[17] = kInfinity;
      }
      // Both spoilt steps have an exchange, also with delay=2.
      both.step(all, step, step == 3 ? 1 : step == 1 ? 2 : 0);
    }
    EXPECT_THROW(both.gpu().next_round(std::vector<const float*>(shapes.size())), std::logic_error);
  }
  const TestDevice device = open(1);
  const std::vector<TensorInfo> infos = {{"t", {8}, 8}};
  const auto other = device.make(parse_spec("int8"), infos, {});
  EXPECT_EQ(dynamic_cast<DeviceMultiRound*>(other.get()), nullptr);
}

}  // namespace thinpipe::cuda
