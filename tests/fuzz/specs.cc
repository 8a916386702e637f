// The list is made from the registry, so that a method is fuzzed from its first day.
#include <algorithm>

#include <fmt/format.h>

#include "compressors/kernels/random.h"
#include "compressors/registry.h"
#include "tests/fuzz/specs.h"

namespace thinpipe::fuzz {
namespace {

/// Other values worth trying than the default.
std::vector<std::string> alternatives(const ParameterInfo& parameter) {
  switch (parameter.type) {
    case ParameterInfo::Type::kChoice:
      return parameter.choices;
    case ParameterInfo::Type::kFlag:
      return {"true", "false"};
    default:
      if (parameter.name == "ratio" || parameter.name == "p") return {"0.3"};
      if (parameter.type == ParameterInfo::Type::kRealList) return {};
      return {fmt::format("{}", parameter.minimum)};  // of sizes, the one with most special cases
  }
}

bool is_valid(const std::string& spec) {
  try {
    make_compressor(parse_spec(spec), {.name = "t", .shape = {4, 4}, .elements = 16}, {});
    return true;
  } catch (const InputError&) {  // a choice that needs another one
    return false;
  }
}

}  // namespace

const std::vector<std::string>& specs() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const MethodInfo& method : methods()) {
      list.push_back(method.name);
      for (const ParameterInfo& parameter : method.parameters) {
        for (const std::string& value : alternatives(parameter)) {
          const std::string spec = method.name + ":" + parameter.name + "=" + value;
          if (value != parameter.default_value && is_valid(spec)) list.push_back(spec);
        }
      }
    }
    std::sort(list.begin(), list.end(), [](const std::string& a, const std::string& b) {
      return std::pair(key_of(a), a) < std::pair(key_of(b), b);
    });
    return list;
  }();
  return all;
}

std::uint16_t key_of(const std::string& spec) {
  return static_cast<std::uint16_t>(SplitMix64::mix(hash_name(spec)));
}

const std::string& spec_of(std::uint16_t key) {
  const auto found =
      std::lower_bound(specs().begin(), specs().end(), key,
                       [](const std::string& spec, std::uint16_t k) { return key_of(spec) < k; });
  return found == specs().end() ? specs().front() : *found;
}

Subject take_subject(Input& input) {
  const std::string& spec = spec_of(input.get<std::uint16_t>());
  const std::int64_t rows = input.get<std::uint8_t>();
  const std::int64_t columns = input.get<std::uint8_t>();
  TensorInfo tensor{.name = "t", .shape = {rows}, .elements = static_cast<std::size_t>(rows)};
  if (columns > 0) {
    tensor.shape.push_back(columns);
    tensor.elements *= static_cast<std::size_t>(columns);
  }
  return {spec, find_method(parse_spec(spec).name).needs_squares, tensor};
}

}  // namespace thinpipe::fuzz
