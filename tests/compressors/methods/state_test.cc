// What compressors carry from step to step: checkpoints, and no new memory.
#include <gtest/gtest.h>

#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::all_specs;
using testing::encode;
using testing::make;

// After the first step nothing is allocated: no page fault of a fresh buffer enters a measurement.

TEST(Allocation, NoneAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  constexpr std::size_t kElements = 50000;
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t step = 0; step < 8; ++step) {
    gradients.push_back(testing::heavy(kElements, step));
  }
  gradients.emplace_back(kElements, 1.0F);  // everything ties: the worst case of most buffers
  std::vector<std::vector<float>> squares;
  for (const auto& gradient : gradients) squares.push_back(testing::squares_of(gradient));
  for (const std::string& spec : testing::all_specs()) {
    const auto compressor = testing::make(spec, kElements);
    std::vector<std::byte> payload(compressor->max_encoded_size());
    std::vector<float> out(kElements);
    std::size_t before = 0;
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      if (step == 1) before = testing::allocations();
      const auto report = compressor->encode(
          {.values = gradients[step], .squares = squares[step], .step = step, .epoch = 0}, payload);
      compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1.0F, out);
    }
    EXPECT_EQ(testing::allocations() - before, 0U) << spec;
  }
  // The counter counts the library's allocations too.
  const std::size_t before = testing::allocations();
  testing::make("topk", 10);
  EXPECT_GT(testing::allocations(), before);
}

TEST(State, ARestoredCompressorGoesOnAlike) {
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    const auto original = make(spec, 1003);
    for (std::uint64_t step = 0; step < 7; ++step) {
      encode(*original, testing::heavy(1003, step), step);
    }
    std::vector<std::byte> state;
    original->save_state(state);
    const auto restored = make(spec, 1003);
    encode(*restored, testing::heavy(1003, 50));  // whatever it did before is replaced
    restored->load_state(state);
    for (std::uint64_t step = 7; step < 14; ++step) {
      const auto gradient = testing::heavy(1003, step);
      ASSERT_EQ(encode(*restored, gradient, step).payload,
                encode(*original, gradient, step).payload);
    }
  }
}

TEST(State, ResetForgetsEverything) {
  for (const std::string& spec : all_specs()) {
    SCOPED_TRACE(spec);
    const auto used = make(spec, 1003);
    for (std::uint64_t step = 0; step < 12; ++step) encode(*used, testing::heavy(1003, step), step);
    used->reset();
    const auto fresh = make(spec, 1003);
    for (std::uint64_t step = 0; step < 6; ++step) {
      const auto gradient = testing::heavy(1003, step);
      ASSERT_EQ(encode(*used, gradient, step).payload, encode(*fresh, gradient, step).payload);
    }
  }
}

TEST(State, RefusesWhatIsNotItsOwn) {
  std::vector<std::byte> state;
  make("topk", 100)->save_state(state);
  const auto refused = [](const std::string& spec, std::size_t elements, const std::string& name,
                          std::span<const std::byte> bytes) {
    const auto compressor = make(spec, elements, name);
    EXPECT_THROW(compressor->load_state(bytes), InputError);
  };
  EXPECT_NO_THROW(make("topk", 100)->load_state(state));
  EXPECT_NO_THROW(make("topk:ratio=0.01", 100)->load_state(state));  // the default, spelt out
  refused("topk:ratio=0.02", 100, "layer.weight", state);
  refused("dgc", 100, "layer.weight", state);
  refused("topk", 101, "layer.weight", state);
  refused("topk", 100, "layer.bias", state);
  for (std::size_t size = 0; size < state.size(); size += size < 140 ? 1 : 37) {
    refused("topk", 100, "layer.weight", std::span(state).first(size));
  }
  auto other = state;
  other.push_back(std::byte{0});
  refused("topk", 100, "layer.weight", other);
  other = state;
  other[4] = std::byte{2};  // the version
  refused("topk", 100, "layer.weight", other);
  other = state;
  other[state.size() - 100 * sizeof(float) - 1] = std::byte{2};  // neither 0 nor 1
  refused("topk", 100, "layer.weight", other);
  other = state;
  other[0] = std::byte{0};
  refused("topk", 100, "layer.weight", other);
}

}  // namespace
}  // namespace thinpipe
