// Passes arbitrary gradients, including NaN and infinities, through two compressors on different
// SIMD targets. Both payloads must be the same bytes, be within the size bound, and decode to the
// same bits.
#include <bit>
#include <cmath>
#include <vector>

#include "compressors/registry.h"
#include "hwy/targets.h"
#include "tests/fuzz/specs.h"

namespace thinpipe::fuzz {
namespace {

/// The gradients of one step consist of floats from the fuzzer's input as long as any are left,
/// then of a fixed pattern.
std::vector<float> take_gradient(Input& input, std::size_t elements) {
  std::vector<float> gradient(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    gradient[i] = input.rest().empty()
                      ? (static_cast<float>(i * 37 % 101) - 50) * (i % 13 == 0 ? 1.0F : 0.01F)
                      : std::bit_cast<float>(input.get<std::uint32_t>());
  }
  return gradient;
}

struct Step {
  std::vector<std::byte> payload;
  std::vector<float> decoded;
};

Step run(Compressor& compressor, const GradientInput& gradient) {
  Step step;
  step.payload.resize(compressor.max_encoded_size());
  const EncodeReport report = compressor.encode(gradient, step.payload);
  require(report.encoded_bytes <= step.payload.size(), "the payload is within its bound");
  step.payload.resize(report.encoded_bytes);
  step.payload.shrink_to_fit();
  step.decoded.resize(gradient.values.size());
  compressor.decode_add(step.payload, 1.0F, step.decoded);
  return step;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Which NaN an operation gives may depend on the order of its operands.
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const fuzz::Subject subject = fuzz::take_subject(input);
  const auto targets = hwy::SupportedAndGeneratedTargets();
  const std::int64_t other = targets[input.get<std::uint8_t>() % targets.size()];
  const auto best = make_compressor(parse_spec(subject.spec), subject.tensor, {});
  const auto second = make_compressor(parse_spec(subject.spec), subject.tensor, {});
  bool has_nan = false;
  for (std::uint64_t number = 0; number < 2; ++number) {
    const auto values = fuzz::take_gradient(input, subject.tensor.elements);
    std::vector<float> squares;
    if (subject.needs_squares) {
      for (float value : values) squares.push_back(value * value);
    }
    const GradientInput gradient{.values = values, .squares = squares, .step = number, .epoch = 0};
    const fuzz::Step one = fuzz::run(*best, gradient);
    hwy::SetSupportedTargetsForTest(other);
    const fuzz::Step two = fuzz::run(*second, gradient);
    hwy::SetSupportedTargetsForTest(0);
    for (float value : one.decoded) has_nan |= std::isnan(value);
    for (float value : values) has_nan |= std::isnan(value);
    const std::string where = subject.spec + " on " + hwy::TargetName(other);
    if (!has_nan) fuzz::require(one.payload == two.payload, "the same payload, " + where);
    fuzz::require(fuzz::same_bits(one.decoded, two.decoded), "the same values, " + where);
  }
  return 0;
}
