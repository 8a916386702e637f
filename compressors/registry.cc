// Keeps the list of registered methods, makes compressors by name, checks a spec against the
// parameters that its method declares, and cuts arrays into slices that suit a method.
#include "compressors/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

/// Returns the list of methods. The list is a static variable of this function, because methods
/// register themselves before main, from several files in any order.
std::vector<MethodInfo>& registered() {
  static std::vector<MethodInfo> list;
  return list;
}

}  // namespace

Registration::Registration(MethodInfo info) {
  std::vector<MethodInfo>& list = registered();
  const auto position = std::lower_bound(
      list.begin(), list.end(), info.name,
      [](const MethodInfo& method, const std::string& name) { return method.name < name; });
  if (position != list.end() && position->name == info.name) {
    throw std::logic_error("two methods are called '" + info.name + "'");
  }
  list.insert(position, std::move(info));
}

const std::vector<MethodInfo>& methods() { return registered(); }

const MethodInfo& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  throw InputError(fmt::format("unknown compressor {} (known: {}){}", in_quotes(name),
                               fmt::join(names, ", "), did_you_mean(name, names)));
}

void check_spec(const Spec& spec) { parameters_of(spec); }

Parameters parameters_of(const Spec& spec) { return {find_method(spec.name).parameters, spec}; }

std::optional<double> expected_bits(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  if (!method.expected_bits) return std::nullopt;
  return method.expected_bits(parameters_of(spec));
}

EncodeTraffic traffic_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  const Parameters parameters = parameters_of(spec);
  return method.traffic ? method.traffic(parameters) : EncodeTraffic{};
}

Aggregation aggregation_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  const Parameters parameters = parameters_of(spec);
  return method.aggregation_with ? method.aggregation_with(parameters) : method.aggregation;
}

Summation summation_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  return method.summation ? method.summation(parameters_of(spec)) : Summation{};
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
  return method.make(parameters_of(spec), tensor, settings);
}

std::string ParameterInfo::range() const {
  // Integers are written as 1000000: 1e+06 would not parse as an integer.
  const auto number = [this](double value) {
    return type == Type::kInteger ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
  };
  return fmt::format("{}{}, {}{}", exclusive_minimum ? '(' : '[', number(minimum), number(maximum),
                     exclusive_maximum ? ')' : ']');
}

namespace {

using Type = ParameterInfo::Type;

std::string allowed(const ParameterInfo& info) {
  switch (info.type) {
    case Type::kReal:
      return "a number in " + info.range();
    case Type::kInteger:
      return "an integer in " + info.range();
    case Type::kChoice:
      return fmt::format("one of {}", fmt::join(info.choices, ", "));
    case Type::kFlag:
      return "true or false";
    case Type::kRealList:
      return "numbers in " + info.range() + " joined by '/', or none";
    case Type::kSpec:
      return "a compressor, in parentheses where it has parameters, or same";
  }
  throw std::logic_error("unknown parameter type");
}

bool in_range(const ParameterInfo& info, double number) {
  return number >= info.minimum && number <= info.maximum &&
         !(info.exclusive_minimum && number == info.minimum) &&
         !(info.exclusive_maximum && number == info.maximum);
}

/// Brings one value into its normal form. Returns false when the value is not allowed.
bool normalize(const ParameterInfo& info, std::string& text) {
  switch (info.type) {
    case Type::kReal: {
      const auto number = parse_number<double>(text);
      if (!number || !in_range(info, *number)) return false;
      text = fmt::format("{}", *number + 0.0);  // -0 is 0
      return true;
    }
    case Type::kInteger: {
      const auto number = parse_number<long long>(text);
      if (!number || !in_range(info, static_cast<double>(*number))) return false;
      text = fmt::format("{}", *number);
      return true;
    }
    case Type::kChoice:
      return std::find(info.choices.begin(), info.choices.end(), text) != info.choices.end();
    case Type::kFlag:
      return text == "true" || text == "false";
    case Type::kRealList: {
      if (text == "none") return true;
      std::string normal;
      for (const std::string& item : split(text, '/')) {
        const auto number = parse_number<double>(item);
        if (!number || !in_range(info, *number)) return false;
        normal += fmt::format("{}{}", normal.empty() ? "" : "/", *number + 0.0);
      }
      text = normal;
      return true;
    }
    case Type::kSpec: {
      if (text == "same") return true;
      const Spec spec = parameters_of(spec_of_value(text)).normal();
      text = spec.values.empty() ? spec.name : "(" + spec.to_string() + ")";
      return true;
    }
  }
  throw std::logic_error("unknown parameter type");
}

}  // namespace

Parameters::Parameters(const std::vector<ParameterInfo>& infos, const Spec& spec) {
  std::vector<std::string> names;
  for (const ParameterInfo& info : infos) names.push_back(info.name);
  for (const auto& [key, unused] : spec.values) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    throw InputError(fmt::format(
        "spec {}: {} has no parameter {}{}; it has {}", in_quotes(spec.to_string()), spec.name,
        in_quotes(key), did_you_mean(key, names),
        names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "))));
  }
  Spec full{.name = spec.name, .values = {}};
  normal_.name = spec.name;
  for (const ParameterInfo& info : infos) {
    const auto given = spec.values.find(info.name);
    std::string text = given == spec.values.end() ? info.default_value : given->second;
    if (!normalize(info, text)) {
      const std::string hint =
          info.type == Type::kChoice ? did_you_mean(text, info.choices) : std::string();
      throw InputError(fmt::format("spec {}: {}={} is not allowed; expected {}{}",
                                   in_quotes(spec.to_string()), info.name, excerpt(text),
                                   allowed(info), hint));
    }
    full.values[info.name] = text;
    std::string standard = info.default_value;
    if (given != spec.values.end() && (!normalize(info, standard) || text != standard))
      normal_.values[info.name] = text;
    values_[info.name] = {.type = info.type, .text = text};
  }
  text_ = full.to_string();
}

const std::string& Parameters::value(const std::string& name, Type type) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.type != type) {
    throw std::logic_error("method asks for an undeclared parameter '" + name + "'");
  }
  return found->second.text;
}

double Parameters::real(const std::string& name) const {
  return parse_number<double>(value(name, Type::kReal)).value();
}

long long Parameters::integer(const std::string& name) const {
  const auto found = values_.find(name);
  const bool is_choice = found != values_.end() && found->second.type == Type::kChoice;
  return parse_number<long long>(value(name, is_choice ? Type::kChoice : Type::kInteger)).value();
}

const std::string& Parameters::choice(const std::string& name) const {
  return value(name, Type::kChoice);
}

bool Parameters::flag(const std::string& name) const { return value(name, Type::kFlag) == "true"; }

std::optional<Spec> Parameters::spec(const std::string& name) const {
  const std::string& text = value(name, Type::kSpec);
  return text == "same" ? std::nullopt : std::optional(spec_of_value(text));
}

std::vector<double> Parameters::reals(const std::string& name) const {
  const std::string& text = value(name, Type::kRealList);
  std::vector<double> numbers;
  if (text == "none") return numbers;
  for (const std::string& item : split(text, '/'))
    numbers.push_back(parse_number<double>(item).value());
  return numbers;
}

std::size_t slice_grain(const Spec& compressor) {
  const std::vector<ParameterInfo>& infos = find_method(compressor.name).parameters;
  const Parameters parameters(infos, compressor);
  for (const ParameterInfo& info : infos) {
    if (info.name != "block" && info.name != "bucket" && info.name != "chunk") continue;
    // A plug-in's parameter of this name may be something else.
    const bool is_choice = info.type == ParameterInfo::Type::kChoice;
    if (info.type != ParameterInfo::Type::kInteger &&
        !(is_choice && parse_number<long long>(parameters.choice(info.name))))
      continue;
    const long long elements = parameters.integer(info.name);
    if (elements > 0) return static_cast<std::size_t>(elements);
  }
  return 1;
}

std::vector<std::size_t> slice_ends(const Spec& compressor, std::size_t elements,
                                    std::size_t ranks) {
  constexpr std::size_t kMinSlice = 1024;  // 4 kB of floats; fewer are not worth a message
  const std::size_t grain = slice_grain(compressor);
  const std::size_t grains = elements / grain + (elements % grain > 0 ? 1 : 0);
  const std::size_t most = std::max<std::size_t>(1, elements / std::max(grain, kMinSlice));
  const std::size_t count = std::min(most, ranks);
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::size_t end = i * (grains / count) + std::min(i, grains % count);
    ends.push_back(std::min(end * grain, elements));
  }
  return ends;
}

}  // namespace thinpipe
