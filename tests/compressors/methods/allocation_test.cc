// After the first step nothing is allocated: no page fault of a fresh buffer enters a measurement.
#include <gtest/gtest.h>

#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

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

}  // namespace
}  // namespace thinpipe
