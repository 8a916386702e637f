// PowerSGD's workers, whose all-reduces are sums in memory.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "compressors/registry.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe::testing::powersgd {

constexpr std::size_t kRows = 30;
constexpr std::size_t kColumns = 40;
constexpr std::size_t kElements = kRows * kColumns;

using Matrices = std::vector<std::vector<float>>;  // one a worker

inline std::unique_ptr<Compressor> make(const std::string& spec, int rank = 0) {
  return make_compressor(parse_spec(spec),
                         {.name = "w", .shape = {kRows, kColumns}, .elements = kElements},
                         {.seed = 4, .rank = rank});
}

inline std::vector<std::byte> state_of(const Compressor& compressor) {
  std::vector<std::byte> state;
  compressor.save_state(state);
  return state;
}

inline double norm(std::span<const float> x) {
  double sum = 0;
  for (float value : x) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm(difference);
}

/// The workers of a job, whose all-reduce is a sum in double.
class Job {
 public:
  Job(const std::string& spec, int workers) {
    for (int rank = 0; rank < workers; ++rank) {
      workers_.push_back(make(spec, rank));
      payloads_.emplace_back(workers_.back()->max_encoded_size());
    }
  }

  Compressor& worker(std::size_t rank) { return *workers_[rank]; }

  /// The aggregate, from a payload that is the same for all.
  std::vector<float> step(const Matrices& gradients, std::uint64_t step) {
    std::size_t bytes = 0;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      bytes = workers_[w]
                  ->first_round({.values = gradients[w], .squares = {}, .step = step}, payloads_[w])
                  .encoded_bytes;
    }
    for (int round = 0; round < workers_[0]->rounds(); ++round) {
      mean_of(bytes / sizeof(float));
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        bytes = workers_[w]->next_round(mean_, payloads_[w]);
      }
    }
    for (const auto& payload : payloads_) {
      EXPECT_EQ(std::memcmp(payload.data(), payloads_[0].data(), bytes), 0);
    }
    return decode(*workers_[0], std::span(payloads_[0]).first(bytes));
  }

  std::vector<float> own(std::size_t rank) const {
    std::vector<std::byte> payload(workers_[rank]->max_encoded_size());
    return decode(*workers_[rank], std::span(payload).first(workers_[rank]->own_payload(payload)));
  }

 private:
  void mean_of(std::size_t count) {
    mean_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const auto& payload : payloads_) {
        float value = 0;
        std::memcpy(&value, payload.data() + i * sizeof value, sizeof value);
        sum += static_cast<double>(value);
      }
      mean_[i] = static_cast<float>(sum / static_cast<double>(payloads_.size()));
    }
  }

  std::vector<std::unique_ptr<Compressor>> workers_;
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<float> mean_;
};

inline Matrices gradients_of(std::size_t workers, std::uint64_t step) {
  Matrices gradients;
  for (std::size_t w = 0; w < workers; ++w) {
    gradients.push_back(heavy(kElements, 10 * step + w));
  }
  return gradients;
}

}  // namespace thinpipe::testing::powersgd
