// GPU compressors whose step takes several all-reduces, compared with the CPU implementation.
#include <gtest/gtest.h>

#include <algorithm>
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
class WorkerSideBySide : public SideBySide {
 public:
  WorkerSideBySide(const TestDevice& device, const std::string& spec, const Shapes& shapes)
      : SideBySide(device, spec, shapes) {
    for (const auto& one : cpu_)
      means_.push_back(static_cast<float*>(device_->allocate(one->max_encoded_size())));
  }

  DeviceMultiRound& rounds() { return dynamic_cast<DeviceMultiRound&>(*gpu_); }
  // Returns the number of tensors that take more than one round.
  std::size_t matrices() const {
    std::size_t count = 0;
    for (const auto& one : cpu_) count += rounds_of(*one) > 1 ? 1 : 0;
    return count;
  }

  /// @param spoilt  the round whose means contain an infinity; 0: none
  void step(const std::vector<std::vector<float>>& gradients, int spoilt) {
    const std::vector<const float*> addresses = upload(gradients);
    if (!exchanges()) return hold(gradients, addresses);
    rounds().first_round(addresses, {.step = step_});
    const auto reports = gpu_->finish();
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i) + ", first round");
      const GradientInput input{.values = gradients[i], .squares = {}, .step = step_};
      payloads_[i].resize(cpu_[i]->max_encoded_size());
      const EncodeReport report = several(i) != nullptr
                                      ? several(i)->first_round(input, payloads_[i])
                                      : cpu_[i]->encode(input, payloads_[i]);
      EXPECT_EQ(report.selected_elements, reports[i].selected_elements);
      compare_sent(i, report.encoded_bytes, reports[i]);
    }
    ASSERT_EQ(rounds().rounds(), 2);
    for (int round = 1; round <= 2; ++round) next(round, spoilt);
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      finish(i);
      compare_states(i);
    }
    ++step_;
  }

 private:
  // Returns null where the tensor takes one round.
  MultiRound* several(std::size_t tensor) const {
    return dynamic_cast<MultiRound*>(cpu_[tensor].get());
  }

  void compare_sent(std::size_t tensor, std::size_t bytes, const EncodeReport& gpu) {
    payloads_[tensor].resize(bytes);
    ASSERT_EQ(bytes, gpu.encoded_bytes);
    EXPECT_TRUE(payloads_[tensor] == fetched(*device_, gpu_->device_payload(tensor), bytes));
  }

  void next(int round, int spoilt) {
    std::vector<std::vector<float>> means;
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      means.push_back(mean_with_others(payloads_[i], 1000 * step_ + 10 * i + std::uint64_t(round)));
      if (round == spoilt && means[i].size() > 2) means[i][2] = kInfinity;
      device_->upload(means_[i], means[i].data(), means[i].size() * sizeof(float));
    }
    rounds().next_round(std::vector<const float*>(means_.begin(), means_.end()));
    const auto reports = gpu_->finish();
    for (std::size_t i = 0; i < cpu_.size(); ++i) {
      if (several(i) == nullptr) continue;
      SCOPED_TRACE("tensor " + std::to_string(i) + ", after round " + std::to_string(round));
      payloads_[i].resize(cpu_[i]->max_encoded_size());
      compare_sent(i, several(i)->next_round(means[i], payloads_[i]), reports[i]);
    }
  }

  void finish(std::size_t i) {
    if (several(i) == nullptr) return;
    SCOPED_TRACE("tensor " + std::to_string(i) + ", at the end");
    std::vector<std::byte> own(cpu_[i]->max_encoded_size()), other(own.size());
    ASSERT_EQ(several(i)->own_payload(own), own.size());
    rounds().own_payload(i, other);
    EXPECT_TRUE(own == other) << "own contributions differ";
    std::vector<float> decoded(infos_[i].elements, 0.0F);
    float* const out = arrays_[i].out;
    device_->upload(out, decoded.data(), decoded.size() * sizeof(float));
    cpu_[i]->decode_add(payloads_[i], 1.0F, decoded);
    gpu_->decode_add(i, gpu_->device_payload(i), payloads_[i].size(), 1.0F, out);
    const std::vector<float> found = fetched<float>(*device_, out, decoded.size());
    EXPECT_TRUE(
        std::ranges::equal(std::as_bytes(std::span(decoded)), std::as_bytes(std::span(found))))
        << "aggregates differ";
  }

  std::vector<float*> means_;
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
      // Both spoilt steps have an exchange, also with delay=2.
      both.step(drawn(shapes, step, step == 5), step == 3 ? 1 : step == 1 ? 2 : 0);
    }
    EXPECT_THROW(both.rounds().next_round(std::vector<const float*>(shapes.size())),
                 std::logic_error);
  }
  const TestDevice device = open(1);
  const std::vector<TensorInfo> infos = {{"t", {8}, 8}};
  const auto other = device.make(parse_spec("int8"), infos, {});
  EXPECT_EQ(dynamic_cast<DeviceMultiRound*>(other.get()), nullptr);
}

}  // namespace thinpipe::cuda
