// Arithmetic on arrays on a simulated GPU, compared bit for bit with plain loops.
#include "compressors/cuda/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "compressors/cuda/grid/serial_device.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

// No element, and lengths around a block of 4096.
constexpr std::size_t kLengths[] = {0, 1, 255, 4095, 4096, 4097, 70001};

class ArithmeticTest : public ::testing::Test {
 protected:
  // Uploads values; the array has one more element, which no kernel may write.
  float* uploaded(const std::vector<float>& values) {
    auto* const device_values =
        static_cast<float*>(device_->allocate((values.size() + 1) * sizeof(float)));
    device_->upload(device_values, values.data(), values.size() * sizeof(float));
    return device_values;
  }
  void expect(const float* device, const std::vector<float>& expected) {
    std::vector<float> found(expected.size() + 1);
    device_->download(found.data(), device, found.size() * sizeof(float));
    device_->wait();
    EXPECT_EQ(found.back(), 0);
    EXPECT_TRUE(expected.empty() ||
                std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0)
        << expected.size();
  }

  // Returns the number of kernels launched so far.
  std::size_t launches() {
    device_->wait();
    return device_->did().launches;
  }

  std::shared_ptr<SerialDevice> device_ = std::make_shared<SerialDevice>();
  Arithmetic<SerialDevice> arithmetic_{device_};
};

TEST_F(ArithmeticTest, Adds) {
  for (const std::size_t n : kLengths) {
    std::vector<float> to = drawn(n, 1);
    const std::vector<float> from = drawn(n, 2);
    float* const device_to = uploaded(to);
    arithmetic_.add(device_to, uploaded(from), n);
    for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
    expect(device_to, to);
  }
}

TEST_F(ArithmeticTest, NesterovsMomentumIsThatOfTheOuterOptimiser) {
  constexpr float kMomentum = 0.9F, kRate = 0.7F;
  for (const std::size_t n : kLengths) {
    const std::vector<float> x = drawn(n, 3);
    std::vector<float> v = drawn(n, 4), out(n);
    float *const device_v = uploaded(v), *const device_out = uploaded(out);
    arithmetic_.nesterov(uploaded(x), device_v, device_out, n, kMomentum, kRate);
    for (std::size_t i = 0; i < n; ++i) {
      const float kept = kMomentum * v[i];
      v[i] = kept + x[i];
      const float ahead = kMomentum * v[i];
      out[i] = kRate * (x[i] + ahead);
    }
    expect(device_v, v);
    expect(device_out, out);
  }
}

TEST_F(ArithmeticTest, PutsAtPositions) {
  for (const std::size_t n : kLengths) {
    std::vector<float> to = drawn(2 * n, 5);
    const std::vector<float> values = drawn(n, 6);
    std::vector<std::uint32_t> positions;  // every other position, in descending order
    for (std::size_t i = 0; i < n; ++i)
      positions.push_back(static_cast<std::uint32_t>(2 * (n - 1 - i)));
    auto* const device_positions =
        static_cast<std::uint32_t*>(device_->allocate((n + 1) * sizeof(std::uint32_t)));
    device_->upload(device_positions, positions.data(), n * sizeof(std::uint32_t));
    float* const device_to = uploaded(to);
    arithmetic_.put(device_to, device_positions, uploaded(values), n);
    for (std::size_t i = 0; i < n; ++i) to[positions[i]] = values[i];
    expect(device_to, to);
  }
}

TEST_F(ArithmeticTest, CopiesBytesOfAnyAlignmentAtOnce) {
  // No byte, and lengths around a word and a block of 16 KiB, at every alignment of both sides.
  constexpr std::size_t kBytes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16382, 16383, 16384, 16389, 70001};
  constexpr std::size_t kBufferBytes = 70032;
  std::vector<std::uint8_t> from;
  for (std::size_t i = 0; i < kBufferBytes; ++i)
    from.push_back(static_cast<std::uint8_t>(i * 7 % 251 + 1));
  auto* const device_from = static_cast<std::uint8_t*>(device_->allocate(kBufferBytes));
  device_->upload(device_from, from.data(), kBufferBytes);
  for (int round = 0; round < 2; ++round) {
    std::vector<DeviceCopy> copies;
    std::vector<std::vector<std::uint8_t>> expected;
    for (const std::size_t bytes : kBytes) {
      for (std::size_t to = 0; to < 4; ++to) {
        for (std::size_t skipped = 0; skipped < 4; ++skipped) {
          auto* const device_to = static_cast<std::uint8_t*>(device_->allocate(bytes + 8));
          copies.push_back({device_to + to, device_from + skipped, bytes});
          std::vector<std::uint8_t>& wanted = expected.emplace_back(bytes + 8, 0);
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(skipped), bytes,
                      wanted.begin() + static_cast<std::ptrdiff_t>(to));
        }
      }
    }
    const std::size_t before = launches();
    arithmetic_.copy(copies);
    EXPECT_EQ(launches(), before + 1);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      // Compares the whole allocation: no other byte may change.
      const std::size_t to = i / 4 % 4;
      std::vector<std::uint8_t> found(expected[i].size());
      device_->download(found.data(), static_cast<std::uint8_t*>(copies[i].to) - to, found.size());
      EXPECT_TRUE(found == expected[i])
          << copies[i].bytes << " bytes to " << to << " from " << i % 4;
    }
  }
  const std::size_t before = launches();
  arithmetic_.copy({});
  EXPECT_EQ(launches(), before);
}

}  // namespace
}  // namespace thinpipe::cuda
