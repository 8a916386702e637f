// Copies a plug-in's description into MethodInfos, checking every member.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "compressors/methods/common.h"
#include "compressors/plugin/loader.h"
#include "compressors/plugin/plugin_compressor.h"
#include "compressors/plugin/thinpipe_plugin.h"

namespace thinpipe {
namespace {

// Sizes of the structs of version 1's first header, up to their last members. A plug-in compiled
// with a smaller struct lacks members; a larger struct ends with members that this host does not
// know.
constexpr std::size_t kPluginSize = offsetof(thinpipe_plugin, methods) + sizeof(void*);
constexpr std::size_t kMethodSize = offsetof(thinpipe_plugin_method, load) + sizeof(void (*)());
constexpr std::size_t kParameterSize = offsetof(thinpipe_plugin_parameter, choices) + sizeof(void*);

// Far above real plug-ins; below the values that a pointer or garbage in these members would have.
constexpr std::uint32_t kMaxMethods = 1000;
constexpr std::uint32_t kMaxParameters = 100;
constexpr std::uint32_t kLargestStruct = 4096;
constexpr std::size_t kLongestName = 40;

/// Throws errors that name a file, or a method or parameter in it.
class Complaint {
 public:
  explicit Complaint(std::string who) : who_(std::move(who)) {}
  const std::string& who() const { return who_; }
  Complaint of(const std::string& part) const { return Complaint(who_ + ", " + part); }
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(who_ + ": " + problem);
  }
  void require(bool good, const std::string& problem) const {
    if (!good) fail(problem);
  }

 private:
  std::string who_;
};

std::string text_of(const char* text, const char* what, const Complaint& complaint) {
  if (text == nullptr) complaint.fail(fmt::format("it has no {}", what));
  const std::string copy = text;
  const bool one_line = std::all_of(copy.begin(), copy.end(), [](unsigned char letter) {
    return letter >= 0x20 && letter != 0x7f;
  });
  complaint.require(!copy.empty() && one_line, fmt::format("its {} is not one line of text", what));
  return copy;
}

bool is_word(std::string_view text, std::string_view also) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [&](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  also.find(letter) != std::string_view::npos;
         });
}

std::string checked_name(const char* text, std::string_view also, const Complaint& complaint) {
  std::string name = text_of(text, "name", complaint);
  const bool good = is_word(name, also) && name[0] >= 'a' && name[0] <= 'z';
  complaint.require(good, fmt::format("the name '{}' is not allowed; expected a lower-case letter, "
                                      "then lower-case letters, digits or any of '{}', at most {}",
                                      name, also, kLongestName));
  return name;
}

std::vector<std::string> choices_of(const char* const* choices, const Complaint& complaint) {
  std::vector<std::string> list;
  for (; choices != nullptr && *choices != nullptr; ++choices) {
    const std::string choice = *choices;
    complaint.require(is_word(choice, "_-."),
                      fmt::format("the choice '{}' is not allowed", choice));
    list.push_back(choice);
  }
  complaint.require(!list.empty(), "it is a choice without choices");
  return list;
}

ParameterInfo parameter_of(const thinpipe_plugin_parameter& given, const Complaint& method) {
  using Type = ParameterInfo::Type;
  ParameterInfo info;
  info.name = checked_name(given.name, "_", method.of("a parameter"));
  const Complaint complaint = method.of("parameter '" + info.name + "'");
  info.default_value = text_of(given.default_value, "default", complaint);
  info.help = text_of(given.help, "help", complaint);
  switch (given.type) {
    case THINPIPE_PLUGIN_REAL:
      info.type = Type::kReal;
      break;
    case THINPIPE_PLUGIN_INTEGER:
      info.type = Type::kInteger;
      break;
    case THINPIPE_PLUGIN_CHOICE:
      info.type = Type::kChoice;
      info.choices = choices_of(given.choices, complaint);
      return info;
    case THINPIPE_PLUGIN_FLAG:
      info.type = Type::kFlag;
      return info;
    default:
      complaint.fail(fmt::format("its type is {}; expected 1 to 4", given.type));
  }
  info.minimum = given.minimum;
  info.maximum = given.maximum;
  complaint.require(
      std::isfinite(info.minimum) && std::isfinite(info.maximum) && info.minimum <= info.maximum,
      fmt::format("its range is [{}, {}]", info.minimum, info.maximum));
  info.exclusive_minimum = (given.exclusive & THINPIPE_PLUGIN_ABOVE_MINIMUM) != 0;
  info.exclusive_maximum = (given.exclusive & THINPIPE_PLUGIN_BELOW_MAXIMUM) != 0;
  return info;
}

/// Returns element i of an array of structs of the size that the plug-in reports; members that it
/// lacks are 0.
template <class Struct>
Struct element(const Struct* array, std::size_t i, std::size_t size) {
  Struct copy{};
  std::memcpy(&copy, reinterpret_cast<const std::byte*>(array) + i * size,
              std::min(size, sizeof copy));
  return copy;
}

std::vector<ParameterInfo> parameters_of(const thinpipe_plugin_method& method,
                                         std::size_t parameter_size, const Complaint& complaint) {
  complaint.require(method.parameter_count <= kMaxParameters,
                    fmt::format("it has {} parameters; expected at most {}", method.parameter_count,
                                kMaxParameters));
  complaint.require(method.parameter_count == 0 || method.parameters != nullptr,
                    "its parameters are NULL");
  complaint.require(method.parameter_count == 0 || method.create != nullptr,
                    "it has parameters but no function create to read them");
  std::vector<ParameterInfo> infos;
  for (std::size_t i = 0; i < method.parameter_count; ++i)
    infos.push_back(parameter_of(element(method.parameters, i, parameter_size), complaint));
  if (method.memory == nullptr) return infos;
  return join({infos, memory_parameters(method.memory)});
}

void check_functions(const thinpipe_plugin_method& method, const Complaint& complaint) {
  const auto require = [&](bool there, const char* name) {
    if (!there) complaint.fail(fmt::format("it has no function {}", name));
  };
  require(method.max_encoded_size != nullptr, "max_encoded_size");
  require(method.encode != nullptr, "encode");
  require(method.decode_add != nullptr, "decode_add");
  require((method.create == nullptr) == (method.destroy == nullptr),
          method.create == nullptr ? "create, but a destroy" : "destroy, but a create");
  const int states = (method.reset != nullptr) + (method.state_size != nullptr) +
                     (method.save != nullptr) + (method.load != nullptr);
  complaint.require(states == 0 || states == 4,
                    "it has some of the functions reset, state_size, save and load, but not all");
}

/// Makes the registry's checks of a spec: known keys, defaults within their ranges.
void check_parameters(const MethodInfo& info, const Complaint& complaint) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      complaint.require(info.parameters[i].name != info.parameters[j].name,
                        fmt::format("two parameters are called '{}'", info.parameters[i].name) +
                            "; thinpipe's memory has parameters of its own");
  try {
    const Parameters defaults(info.parameters, Spec{.name = info.name, .values = {}});
  } catch (const InputError& error) {
    complaint.fail(std::string("a default is not allowed: ") + error.what());
  }
}

MethodInfo method_of(const thinpipe_plugin_method& given, std::size_t parameter_size,
                     const Complaint& plugin) {
  MethodInfo info;
  info.from_plugin = true;
  info.name = checked_name(given.name, "_-", plugin.of("a method"));
  const Complaint complaint = plugin.of("method '" + info.name + "'");
  info.summary = text_of(given.summary, "summary", complaint);
  info.source = text_of(given.source, "source", complaint);
  check_functions(given, complaint);
  complaint.require(given.aggregation == THINPIPE_PLUGIN_ALL_GATHER ||
                        given.aggregation == THINPIPE_PLUGIN_ALL_REDUCE,
                    fmt::format("its aggregation is {}; expected 1 or 2", given.aggregation));
  info.aggregation = given.aggregation == THINPIPE_PLUGIN_ALL_GATHER ? Aggregation::kAllGather
                                                                     : Aggregation::kAllReduce;
  complaint.require(
      given.expected_bits > 0 && given.expected_bits <= 64,
      fmt::format("its expected_bits are {}; expected a number in (0, 64]", given.expected_bits));
  // A delay of n steps sends one payload for n gradients.
  info.expected_bits = [bits = given.expected_bits,
                        wrapped = given.memory != nullptr](const Parameters& parameters) {
    return wrapped ? bits / static_cast<double>(period_of(parameters)) : bits;
  };
  info.parameters = parameters_of(given, parameter_size, complaint);
  check_parameters(info, complaint);
  const auto method = std::make_shared<const PluginMethod>(PluginMethod{given, complaint.who()});
  info.make = [method](const Parameters& parameters, const TensorInfo& tensor,
                       const CompressorSettings& settings) {
    return make_plugin_compressor(method, parameters, tensor, settings);
  };
  return info;
}

void check_size(const char* what, std::size_t found, std::size_t least,
                const Complaint& complaint) {
  complaint.require(found >= least && found <= kLargestStruct,
                    fmt::format("its {} is {} bytes; expected at least {}", what, found, least));
}

}  // namespace

std::vector<MethodInfo> describe_plugin(const thinpipe_plugin* plugin, const std::string& file) {
  const Complaint complaint("plug-in '" + file + "'");
  complaint.require(plugin != nullptr,
                    fmt::format("it does not work with version {} of the plug-in interface",
                                THINPIPE_PLUGIN_ABI));
  complaint.require(
      plugin->abi == THINPIPE_PLUGIN_ABI,
      fmt::format("it was compiled for version {} of the plug-in interface; expected {}",
                  plugin->abi, THINPIPE_PLUGIN_ABI));
  check_size("plugin_size", plugin->plugin_size, kPluginSize, complaint);
  check_size("method_size", plugin->method_size, kMethodSize, complaint);
  check_size("parameter_size", plugin->parameter_size, kParameterSize, complaint);
  complaint.require(
      plugin->method_count >= 1 && plugin->method_count <= kMaxMethods,
      fmt::format("it has {} methods; expected 1 to {}", plugin->method_count, kMaxMethods));
  complaint.require(plugin->methods != nullptr, "its methods are NULL");
  std::vector<MethodInfo> infos;
  for (std::size_t i = 0; i < plugin->method_count; ++i) {
    infos.push_back(method_of(element(plugin->methods, i, plugin->method_size),
                              plugin->parameter_size, complaint));
    const auto same = [&](const MethodInfo& other) { return other.name == infos.back().name; };
    const bool taken = std::any_of(methods().begin(), methods().end(), same) ||
                       std::any_of(infos.begin(), infos.end() - 1, same);
    complaint.require(!taken, fmt::format("a method '{}' already exists", infos.back().name));
  }
  return infos;
}

}  // namespace thinpipe
