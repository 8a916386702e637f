// The list of methods that registered themselves, and making compressors by their names.
#include "compressors/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/text.h"

namespace thinpipe {
namespace {

/// A function's static: methods register before main, in any order of files.
std::vector<MethodInfo>& registered() {
  static std::vector<MethodInfo> list;
  return list;
}

}  // namespace

Registration::Registration(MethodInfo info) {
  std::vector<MethodInfo>& list = registered();
  const auto place = std::lower_bound(
      list.begin(), list.end(), info.name,
      [](const MethodInfo& method, const std::string& name) { return method.name < name; });
  if (place != list.end() && place->name == info.name) {
    throw std::logic_error("two methods are called '" + info.name + "'");
  }
  list.insert(place, std::move(info));
}

const std::vector<MethodInfo>& methods() { return registered(); }

const MethodInfo& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  throw InputError(fmt::format("unknown compressor {}{}; known are {}", in_quotes(name),
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

void check_spec(const Spec& spec) { Parameters(find_method(spec.name).parameters, spec); }

Aggregation aggregation_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  const Parameters parameters(method.parameters, spec);
  return method.aggregation_with ? method.aggregation_with(parameters) : method.aggregation;
}

Summation summation_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  return method.summation ? method.summation(Parameters(method.parameters, spec)) : Summation{};
}

std::unique_ptr<Compressor> make_compressor(const Spec& spec, const TensorInfo& tensor,
                                            const CompressorSettings& settings) {
  const MethodInfo& method = find_method(spec.name);
  // Positions are 32 bits in every payload.
  if (tensor.elements > std::numeric_limits<std::uint32_t>::max()) {
    throw InputError(fmt::format("tensor '{}' has {} elements; a compressor takes at most {}",
                                 tensor.name, tensor.elements,
                                 std::numeric_limits<std::uint32_t>::max()));
  }
  return method.make(Parameters(method.parameters, spec), tensor, settings);
}

}  // namespace thinpipe
