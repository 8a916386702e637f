#include "harness/bench/device_subject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/harness/bench/played_gpu.h"

namespace thinpipe {
namespace {

std::vector<float> ascending(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

TensorInfo tensor_of(std::size_t elements) {
  return {.name = "t", .shape = {static_cast<std::int64_t>(elements)}, .elements = elements};
}

TEST(DeviceInputs, TogetherTheyAreTwiceTheCache) {
  // 4000 bytes each, the cache 16384: eight have less than twice of it, nine have more.
  const TimedDevice device = play_gpu({.l2_bytes = 16384})();
  const std::vector<float> values = ascending(1000);
  const DeviceInputs inputs(device, tensor_of(1000), values, Residency::kMemory);
  EXPECT_EQ(inputs.rotation(), 9u);
  EXPECT_EQ(inputs.gradient(9), inputs.gradient(0));
  EXPECT_EQ(inputs.output(10), inputs.output(1));
  EXPECT_EQ(DeviceInputs(device, tensor_of(1000), values, Residency::kCache).rotation(), 1u);
}

TEST(DeviceInputs, AllHoldTheValuesEachBeginningWithAnother) {
  const TimedDevice device = play_gpu({.l2_bytes = 8000})();
  const std::vector<float> values = ascending(1000);
  const DeviceInputs inputs(device, tensor_of(1000), values, Residency::kMemory);
  std::set<float> first;
  for (std::size_t step = 0; step < inputs.rotation(); ++step) {
    std::vector<float> here(1000), there(1000);
    inputs.values(step, here);
    device.memory->download(there.data(), inputs.gradient(step), 4000);
    EXPECT_EQ(here, there);
    first.insert(here[0]);
    std::sort(here.begin(), here.end());
    EXPECT_EQ(here, values);
  }
  EXPECT_EQ(first.size(), inputs.rotation());
}

}  // namespace
}  // namespace thinpipe
