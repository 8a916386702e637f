// Steps that are captured once as a graph and then repeated.
#include "compressors/cuda/grid/repeated.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

TEST(Repeated, TheThirdTimeIsTheFirstRepeatedOne) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  int from = 0, to = 0;
  const auto run = [&](std::uint64_t kind) {
    repeated.run(device, kind, [&] { device.copy(&to, &from, sizeof to); });
  };
  // Runs directly, then is captured and launched, then is launched from the graph.
  for (const std::size_t repeats : {0U, 1U, 2U, 3U}) {
    ++from;
    run(7);
    device.wait();
    EXPECT_EQ(to, from);
    EXPECT_EQ(device.repeats(), repeats);
  }
  run(8);
  EXPECT_EQ(device.repeats(), 3U) << "another kind begins anew";
  run(7);
  EXPECT_EQ(device.repeats(), 4U) << "and the first graph still exists";
}

TEST(Repeated, TooManyKindsRunDirectly) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  int done = 0, one = 1;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t kind = 0; kind < 100; ++kind) {
      done = 0;
      repeated.run(device, kind, [&] { device.copy(&done, &one, sizeof done); });
      device.wait();
      EXPECT_EQ(done, 1);
    }
  }
  EXPECT_GT(device.repeats(), 0U);
  EXPECT_LT(device.repeats(), 100U);
}

TEST(Repeated, OtherWorkOfTheSameKindIsABug) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  char memory[2] = {};
  std::size_t bytes = 1;
  const auto run = [&] { repeated.run(device, 1, [&] { device.zero(memory, bytes); }); };
  run();
  run();
  bytes = 2;
  EXPECT_THROW(run(), std::logic_error);
}

TEST(Repeated, StepsOfEveryCompressorAreRepeated) {
  for (const std::string& spec : gpu_specs()) {
    const auto device = std::make_shared<SerialDevice>();
    const std::vector<std::size_t> sizes = {3000, 10};
    SideBySide both({device, maker_on(device)}, spec, sizes);
    for (std::uint64_t step = 0; step < 12; ++step)
      both.step({drawn(sizes[0], step), drawn(sizes[1], step)});
    // All exchanges but the first are repeated. SIDCo's stages change between the first steps.
    const bool waits = spec.find("delay=") != std::string::npos;
    EXPECT_GE(device->repeats(), spec.starts_with("sidco") ? 1U : waits ? 3U : 10U) << spec;
  }
}

}  // namespace
}  // namespace thinpipe::cuda
