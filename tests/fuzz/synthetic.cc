// Fuzzes the text after `synthetic:`. If the text parses, its canonical text must give the same
// gradients, and the gradients of a small trace must be finite numbers. Otherwise the parser must
// throw an InputError.
#include "workloads/synthetic/synthetic.h"

#include <cmath>

#include "base/error.h"
#include "tests/fuzz/input.h"

namespace {

using namespace thinpipe;

constexpr std::size_t kMaxElements = 5000;
constexpr std::size_t kLatestStep = 3;  // those before it are drawn as well

void check_values(const SyntheticSpec& spec) {
  const Trace trace = make_synthetic(spec);
  fuzz::require(trace.generated() && trace.elements() == spec.elements, "as many elements");
  const std::size_t step = std::min(spec.steps - 1, kLatestStep);
  const auto values = trace.gradient(spec.workers - 1, step, 0);
  fuzz::require(values.size() == spec.elements, "as many values");
  for (const float value : values) fuzz::require(std::isfinite(value), "finite values");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = "synthetic:" + std::string(reinterpret_cast<const char*>(data), size);
  try {
    const SyntheticSpec spec = parse_synthetic_spec(text);
    const std::string canonical = spec.to_string();
    fuzz::require(parse_synthetic_spec(canonical).to_string() == canonical, "it is canonical");
    // A fit would read folders of the machine.
    if (spec.is_fit() || spec.elements == 0 || spec.elements > kMaxElements) return 0;
    check_values(spec);
  } catch (const InputError&) {
  }
  return 0;
}
