// Arithmetic on arrays on a simulated GPU, compared bit for bit with plain loops; reads and copies
// of the roofline.
#include "compressors/cuda/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/kernels/batch.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

// No element, and lengths around a block of 4096.
constexpr std::size_t kLengths[] = {0, 1, 255, 4095, 4096, 4097, 70001};

class ArithmeticTest : public ::testing::Test {
 protected:
  // Uploads values; the array has one more element, which no kernel may write.
  float* guarded(std::vector<float> values) {
    values.push_back(0);
    return uploaded(*device_, values);
  }
  void expect(const float* device, const std::vector<float>& expected) {
    const std::vector<float> found = fetched(*device_, device, expected.size() + 1);
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
    float* const device_to = guarded(to);
    arithmetic_.add(device_to, guarded(from), n);
    for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
    expect(device_to, to);
  }
}

TEST_F(ArithmeticTest, NesterovsMomentumIsThatOfTheOuterOptimiser) {
  constexpr float kMomentum = 0.9F, kRate = 0.7F;
  for (const std::size_t n : kLengths) {
    const std::vector<float> x = drawn(n, 3);
    std::vector<float> v = drawn(n, 4), out(n);
    float *const device_v = guarded(v), *const device_out = guarded(out);
    arithmetic_.nesterov(guarded(x), device_v, device_out, n, kMomentum, kRate);
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
    float* const device_to = guarded(to);
    arithmetic_.put(device_to, uploaded(*device_, positions), guarded(values), n);
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
  std::uint8_t* const device_from = uploaded(*device_, from);
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
      const auto* const begin = static_cast<std::uint8_t*>(copies[i].to) - to;
      EXPECT_TRUE(fetched(*device_, begin, expected[i].size()) == expected[i])
          << copies[i].bytes << " bytes to " << to << " from " << i % 4;
    }
  }
  const std::size_t before = launches();
  arithmetic_.copy({});
  EXPECT_EQ(launches(), before);
}

std::uint32_t sum_of_words(const std::vector<float>& values) {
  std::uint32_t sum = 0;
  for (const float value : values) sum += std::bit_cast<std::uint32_t>(value);
  return sum;
}

TEST(Roofline, EveryElementIsReadOnce) {
  const auto device = std::make_shared<SerialDevice>();
  Roofline<SerialDevice> roofline(device);
  // No element, and sizes around a vector, a vector per stream and a block per stream.
  for (const std::size_t n :
       {0, 1, 3, 4, 5, 31, 32, 33, 1023, 1024, 1025, 8191, 8192, 8223, 70001}) {
    const std::vector<float> values = drawn(n, n + 1);
    const float* const x = uploaded(*device, values);
    for (const int streams : DeviceRoofline::kStreamCounts) {
      roofline.read(x, n, streams);
      EXPECT_EQ(roofline.take_sum(), sum_of_words(values)) << n << " " << streams;
    }
    roofline.read(x, n, 1);
    roofline.read(x, n, 8);
    EXPECT_EQ(roofline.take_sum(), 2 * sum_of_words(values));
  }
  EXPECT_EQ(roofline.take_sum(), 0U);
}

TEST(Roofline, ACopyHasTheSameElements) {
  const auto device = std::make_shared<SerialDevice>();
  Roofline<SerialDevice> roofline(device);
  const std::vector<float> values = drawn(1000, 1);
  auto* const to = static_cast<float*>(device->allocate(4000));
  roofline.copy(uploaded(*device, values), 1000, to);
  EXPECT_EQ(fetched(*device, to, 1000), values);
}

}  // namespace
}  // namespace thinpipe::cuda
