#include "harness/bench/options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

// Returns the name of the method's ratio parameter; "" if it has none.
std::string ratio_key(const std::string& method) {
  const std::string key = method == "sbc" ? "p" : "ratio";
  const std::vector<ParameterInfo>& infos = find_method(method).parameters;
  const bool there = std::any_of(infos.begin(), infos.end(), [&](const ParameterInfo& info) {
    return info.name == key && info.type == ParameterInfo::Type::kReal;
  });
  return there ? key : "";
}

}  // namespace

const char* to_string(Residency residency) {
  return residency == Residency::kMemory ? "memory" : "cache";
}

std::size_t parse_elements(const std::string& text) {
  constexpr double kLargest = 1e9;  // 4 GB a buffer, and positions fit 32 bits
  for (const auto& [suffix, factor] :
       {std::pair{"", 1.0}, std::pair{"k", 1e3}, std::pair{"m", 1e6}, std::pair{"g", 1e9}}) {
    const auto value = parse_number_with<double>(suffix, text, 0, kLargest / factor);
    const double elements = value.value_or(0) * factor;
    if (elements >= 1 && elements == std::floor(elements))
      return static_cast<std::size_t>(elements);
  }
  throw InputError("--size: " + in_quotes(text) +
                   " is not a number of elements from 1 to 1g (such as 26m, 260k, 65537)");
}

std::optional<double> ratio_of(const Spec& spec) {
  const std::string key = ratio_key(spec.name);
  if (key.empty()) return std::nullopt;
  return parameters_of(spec).real(key);
}

std::vector<Spec> with_ratios(const std::vector<Spec>& specs,
                              const std::vector<std::string>& ratios) {
  if (ratios.empty()) return specs;
  std::vector<Spec> all;
  const auto add = [&](const Spec& spec) { add_once(all, spec); };
  bool used = false;
  for (const Spec& spec : specs) {
    const std::string key = ratio_key(spec.name);
    if (key.empty() || spec.values.count(key) > 0) {
      add(spec);
      continue;
    }
    used = true;
    for (const std::string& ratio : ratios) {
      Spec with = spec;
      with.values[key] = ratio;
      check_spec(with);
      add(with);
    }
  }
  if (!used)
    throw InputError(
        "--ratio has no effect, because every compressor sets its ratio in its spec or has none; "
        "leave --ratio out");
  return all;
}

}  // namespace thinpipe
