// The number of threads changes nothing but the time.
#include <gtest/gtest.h>

#include <span>

#include "compressors/kernels/parallel.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

TEST(Threads, SamePayloadAndStateOnAnyNumber) {
  constexpr std::size_t kElements = kMinParallel + 4321;
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> squares;
  for (std::uint64_t step = 0; step < 2; ++step) {
    gradients.push_back(testing::heavy(kElements, step));
    squares.push_back(testing::squares_of(gradients.back()));
  }
  for (const std::string& spec : testing::all_specs()) {
    SCOPED_TRACE(spec);
    std::vector<std::vector<std::byte>> results;
    for (int threads : {1, 3}) {
      const auto compressor = make_compressor(
          parse_spec(spec),
          {.name = "t", .shape = {static_cast<std::int64_t>(kElements)}, .elements = kElements},
          {.threads = threads});
      std::vector<std::byte> result;
      compressor->save_state(result);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      for (std::uint64_t step = 0; step < gradients.size(); ++step) {
        const auto report = compressor->encode(
            {.values = gradients[step], .squares = squares[step], .step = step}, payload);
        result.insert(result.end(), payload.begin(),
                      payload.begin() + static_cast<std::ptrdiff_t>(report.encoded_bytes));
        const auto decoded = testing::decode(
            *compressor, std::span<const std::byte>(payload).first(report.encoded_bytes));
        const auto bytes = std::as_bytes(std::span(decoded));
        result.insert(result.end(), bytes.begin(), bytes.end());
      }
      std::vector<std::byte> state;
      compressor->save_state(state);
      result.insert(result.end(), state.begin(), state.end());
      results.push_back(std::move(result));
    }
    // Not EXPECT_EQ: megabytes would be printed.
    EXPECT_TRUE(results[0] == results[1]);
  }
}

}  // namespace
}  // namespace thinpipe
