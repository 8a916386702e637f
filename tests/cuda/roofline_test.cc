// Reads and copies on a simulated GPU, and its clock.
#include "compressors/cuda/roofline.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "compressors/cuda/grid/serial_device.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

std::uint32_t sum_of_words(const std::vector<float>& values) {
  std::uint32_t sum = 0;
  for (const float value : values) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    sum += word;
  }
  return sum;
}

TEST(Roofline, EveryElementIsReadOnce) {
  const auto device = std::make_shared<SerialDevice>();
  Roofline<SerialDevice> roofline(device);
  // No element, and sizes around a vector, a vector per stream and a block per stream.
  for (const std::size_t n :
       {0, 1, 3, 4, 5, 31, 32, 33, 1023, 1024, 1025, 8191, 8192, 8223, 70001}) {
    const std::vector<float> values = drawn(n, n + 1);
    auto* const x = static_cast<float*>(device->allocate(n * sizeof(float)));
    device->upload(x, values.data(), n * sizeof(float));
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
  auto* const from = static_cast<float*>(device->allocate(4000));
  auto* const to = static_cast<float*>(device->allocate(4000));
  device->upload(from, values.data(), 4000);
  roofline.copy(from, 1000, to);
  std::vector<float> copied(1000);
  device->download(copied.data(), to, 4000);
  EXPECT_EQ(copied, values);
}

TEST(SerialClock, MarksMoveWhenTheyAreSetAgain) {
  SerialDevice device;
  device.mark(0);
  device.mark_waits(1);
  device.wait();
  const double first = device.seconds(0, 1);
  EXPECT_GE(first, 0);
  device.wait();
  EXPECT_GT(device.seconds(0, 1), first);
  const double second = device.seconds(0, 1);
  device.mark_waits(std::nullopt);
  device.wait();
  EXPECT_EQ(device.seconds(0, 1), second);
}

}  // namespace
}  // namespace thinpipe::cuda
