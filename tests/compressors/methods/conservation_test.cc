// Error feedback loses nothing: sum of inputs = sum of what was decoded + residual, per element,
// over 100 steps (SBC Theorem II.1). For every method of the registry and every spec of all_specs()
// that can have the residual memory, whatever memory it has by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tests/compressors/support/accounts.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

constexpr std::size_t kConserved = 3000;  // 50 x 60
constexpr std::uint64_t kConservedSteps = 100;

bool has_parameter(const MethodInfo& method, const std::string& name) {
  for (const ParameterInfo& parameter : method.parameters) {
    if (parameter.name == name) return true;
  }
  return false;
}

/// The spec with a residual memory that forgets nothing and is given the gradients as they are.
Spec with_residual(Spec spec, const MethodInfo& method) {
  spec.values["memory"] = "residual";
  if (has_parameter(method, "decay")) spec.values["decay"] = "1";
  spec.values.erase("clip");
  spec.values.erase("scale");  // random-k's unbiased scale is for no memory; others have a default
  return spec;
}

std::vector<Spec> specs_with_residual() {
  std::vector<std::string> texts = testing::all_specs();
  for (const MethodInfo& method : methods()) texts.push_back(method.name);
  std::vector<Spec> specs;
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    Spec spec = parse_spec(text);
    const MethodInfo& method = find_method(spec.name);
    if (!has_parameter(method, "memory")) continue;
    spec = with_residual(spec, method);
    if (seen.insert(Parameters(method.parameters, spec).text()).second) specs.push_back(spec);
  }
  return specs;
}

TEST(Conservation, OfEveryMethodThatCanHaveAResidual) {
  std::set<std::string> names;
  for (const Spec& spec : specs_with_residual()) {
    SCOPED_TRACE(spec.to_string());
    const auto compressor = testing::make(spec.to_string(), kConserved);
    const testing::Accounts accounts(*compressor, kConservedSteps, 100);
    accounts.expect_balance(compressor->residual());
    names.insert(spec.name);
  }
  // Every method but those that have no memory at all.
  for (const MethodInfo& method : methods()) {
    EXPECT_EQ(names.contains(method.name), has_parameter(method, "memory")) << method.name;
  }
}

TEST(Verbatim, IsTheGradientItself) {
  std::set<std::string> names;
  for (const std::string& text : testing::all_specs()) {
    const auto compressor = testing::make(text, kConserved);
    if (!compressor->verbatim()) continue;
    names.insert(text);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const std::vector<float> gradient = testing::heavy(kConserved, 7 + step);
      std::vector<std::byte> payload(compressor->max_encoded_size());
      const EncodeReport report =
          compressor->encode({.values = gradient, .squares = {}, .step = step}, payload);
      ASSERT_EQ(report.encoded_bytes, gradient.size() * sizeof(float));
      EXPECT_EQ(std::memcmp(payload.data(), gradient.data(), report.encoded_bytes), 0);
      EXPECT_EQ(report.target_elements, 0U);
      EXPECT_EQ(report.selected_elements, gradient.size());
      EXPECT_TRUE(compressor->residual().empty());
      const Distortion same = compressor->distortion({.values = gradient, .squares = {}}, payload);
      EXPECT_EQ(same.error_squares, 0);
      EXPECT_GT(same.input_squares, 0);
      payload[1] ^= std::byte{1};
      EXPECT_GT(compressor->distortion({.values = gradient, .squares = {}}, payload).error_squares,
                0);
    }
  }
  EXPECT_EQ(names, std::set<std::string>{"none"});
}

}  // namespace
}  // namespace thinpipe
