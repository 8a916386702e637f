// Compressors on any device whose step is several all-reduces, beside the processor's.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/cuda/twins.h"

namespace thinpipe::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Mean of a worker's values and drawn ones, never its own alone.
std::vector<float> mean_with_others(const std::vector<std::byte>& own, std::uint64_t seed) {
  std::vector<float> mean(own.size() / sizeof(float));
  if (!own.empty()) std::memcpy(mean.data(), own.data(), own.size());
  const std::vector<float> others = drawn(mean.size(), seed);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + others[i]) / 2;
  return mean;
}

// A worker of several, of whom the others are drawn.
class WorkerTwins {
 public:
  WorkerTwins(const TwinDevice& device, const std::string& spec,
              const std::vector<std::vector<std::int64_t>>& shapes)
      : device_(device.device) {
    const Spec parsed = parse_spec(spec);
    std::vector<TensorInfo> infos;
    for (const auto& shape : shapes) {
      std::size_t elements = 1;
      for (std::int64_t side : shape) elements *= static_cast<std::size_t>(side);
      infos.push_back({"tensor" + std::to_string(infos.size()), shape, elements});
      here_.push_back(make_compressor(parsed, infos.back(), {}));
    }
    there_ = device.make(parsed, infos);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      sent_.emplace_back(here_[i]->max_encoded_size());
      gradients_.push_back(array(infos[i].elements));
      means_.push_back(array(here_[i]->max_encoded_size() / sizeof(float)));
    }
  }

  std::size_t tensors() const { return here_.size(); }
  std::size_t elements(std::size_t tensor) const { return here_[tensor]->elements(); }
  DeviceCompressor& there() { return *there_; }
  // Tensors that take more than one round.
  std::size_t matrices() const {
    std::size_t count = 0;
    for (const auto& one : here_) count += one->rounds() > 1 ? 1 : 0;
    return count;
  }

  /// @param spoilt  the round whose means hold an infinity; 0: none
  void step(const std::vector<std::vector<float>>& gradients, std::uint64_t number, int spoilt) {
    for (std::size_t i = 0; i < tensors(); ++i) upload(gradients_[i], gradients[i]);
    const bool sends = (number + 1) % here_[0]->period() == 0;
    if (!sends) {
      there_->hold(addresses(gradients_));
      for (std::size_t i = 0; i < tensors(); ++i)
        here_[i]->hold({.values = gradients[i], .squares = {}, .step = number});
      return compare_states();
    }
    there_->first_round(addresses(gradients_), {.step = number});
    auto reports = there_->finish();
    for (std::size_t i = 0; i < tensors(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i) + ", first round");
      const GradientInput input{.values = gradients[i], .squares = {}, .step = number};
      sent_[i].resize(here_[i]->max_encoded_size());
      const EncodeReport report = here_[i]->rounds() > 1 ? here_[i]->first_round(input, sent_[i])
                                                         : here_[i]->encode(input, sent_[i]);
      EXPECT_EQ(report.selected_elements, reports[i].selected_elements);
      compare(i, report.encoded_bytes, reports[i]);
    }
    ASSERT_EQ(there_->rounds(), 2);
    for (int round = 1; round <= 2; ++round) next(round, number, spoilt);
    for (std::size_t i = 0; i < tensors(); ++i) finish(i);
    compare_states();
  }

 private:
  float* array(std::size_t floats) {
    // Payloads that are decoded are followed by readable bytes.
    return static_cast<float*>(device_->allocate((floats + 1) * sizeof(float)));
  }
  static std::vector<const float*> addresses(const std::vector<float*>& arrays) {
    return {arrays.begin(), arrays.end()};
  }
  void upload(float* there, const std::vector<float>& values) {
    device_->upload(there, values.data(), values.size() * sizeof(float));
    device_->wait();
  }
  template <class T>
  std::vector<T> fetched(const T* there, std::size_t count) {
    std::vector<T> values(count);
    device_->download(values.data(), there, count * sizeof(T));
    device_->wait();
    return values;
  }
  static bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  }

  void compare(std::size_t tensor, std::size_t bytes, const EncodeReport& there) {
    sent_[tensor].resize(bytes);
    ASSERT_EQ(bytes, there.encoded_bytes);
    EXPECT_TRUE(sent_[tensor] == fetched(there_->device_payload(tensor), bytes));
  }

  void next(int round, std::uint64_t number, int spoilt) {
    std::vector<std::vector<float>> means;
    for (std::size_t i = 0; i < tensors(); ++i) {
      means.push_back(mean_with_others(sent_[i], 1000 * number + 10 * i + std::uint64_t(round)));
      if (round == spoilt && means[i].size() > 2) means[i][2] = kInfinity;
      upload(means_[i], means[i]);
    }
    there_->next_round(addresses(means_));
    const auto reports = there_->finish();
    for (std::size_t i = 0; i < tensors(); ++i) {
      if (here_[i]->rounds() == 1) continue;
      SCOPED_TRACE("tensor " + std::to_string(i) + ", after round " + std::to_string(round));
      sent_[i].resize(here_[i]->max_encoded_size());
      compare(i, here_[i]->next_round(means[i], sent_[i]), reports[i]);
    }
  }

  void finish(std::size_t i) {
    if (here_[i]->rounds() == 1) return;
    SCOPED_TRACE("tensor " + std::to_string(i) + ", at the end");
    std::vector<std::byte> own(here_[i]->max_encoded_size()), other(own.size());
    ASSERT_EQ(here_[i]->own_payload(own), own.size());
    there_->own_payload(i, other);
    EXPECT_TRUE(own == other) << "own parts differ";
    std::vector<float> decoded(elements(i), 0.0F);
    here_[i]->decode_add(sent_[i], 1.0F, decoded);
    float* const out = gradients_[i];  // not needed any more
    upload(out, std::vector<float>(elements(i), 0.0F));
    there_->decode_add(i, there_->device_payload(i), sent_[i].size(), 1.0F, out);
    EXPECT_TRUE(same_bits(decoded, fetched<float>(out, elements(i)))) << "aggregates differ";
  }

  void compare_states() {
    for (std::size_t i = 0; i < tensors(); ++i) {
      std::vector<std::byte> state, other;
      here_[i]->save_state(state);
      there_->save_state(i, other);
      EXPECT_TRUE(state == other) << "states of tensor " << i << " differ";
    }
  }

  std::shared_ptr<DeviceMemory> device_;
  std::vector<std::unique_ptr<Compressor>> here_;
  std::unique_ptr<DeviceCompressor> there_;
  std::vector<std::vector<std::byte>> sent_;
  std::vector<float*> gradients_, means_;
};

}  // namespace

void expect_same_bytes_in_rounds(const OpenDevice& open) {
  // Matrices of one column and one row, vectors and what factors would not make smaller among them.
  const std::vector<std::vector<std::int64_t>> shapes = {
      {64, 100}, {1, 50}, {130, 3}, {100}, {200, 333}, {0, 7}, {2, 600}, {129, 4, 8, 8}, {600, 20}};
  for (const char* spec :
       {"powersgd", "powersgd:rank=1,memory=none", "powersgd:rank=2,delay=2,clip=0.5",
        "powersgd:rank=5,warm=false,memory=ef21", "powersgd:rank=9,memory=momentum"}) {
    SCOPED_TRACE(spec);
    const TwinDevice device = open(1);
    WorkerTwins twins(device, spec, shapes);
    ASSERT_GE(twins.matrices(), 3U);
    for (std::uint64_t step = 0; step < 8; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        all.push_back(drawn(twins.elements(i), 100 * step + i));
        if (step == 5 && all.back().size() > 20) all.back()[17] = kInfinity;
      }
      // In steps with an exchange of a delayed method as well.
      twins.step(all, step, step == 3 ? 1 : step == 1 ? 2 : 0);
    }
    EXPECT_THROW(twins.there().next_round(std::vector<const float*>(shapes.size())),
                 std::logic_error);
  }
  const TwinDevice device = open(1);
  const std::vector<TensorInfo> infos = {{"t", {8}, 8}};
  const auto other = device.make(parse_spec("int8"), infos);
  EXPECT_EQ(other->rounds(), 1);
  EXPECT_THROW(other->first_round(std::vector<const float*>(1), {}), std::logic_error);
}

}  // namespace thinpipe::cuda
