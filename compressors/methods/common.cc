// The shared parameters, and the memory, ratio and codecs made from them.
#include "compressors/methods/common.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace thinpipe {
namespace {

using Type = ParameterInfo::Type;

ParameterInfo number(Type type, const std::string& name, const std::string& default_value,
                     const std::string& help, double minimum, double maximum) {
  return {.name = name,
          .type = type,
          .default_value = default_value,
          .help = help,
          .minimum = minimum,
          .maximum = maximum,
          .choices = {}};
}

}  // namespace

ParameterInfo real_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help, double minimum, double maximum) {
  return number(Type::kReal, name, default_value, help, minimum, maximum);
}

ParameterInfo above_minimum(ParameterInfo info) {
  info.exclusive_minimum = true;
  return info;
}

ParameterInfo below_maximum(ParameterInfo info) {
  info.exclusive_maximum = true;
  return info;
}

ParameterInfo integer_parameter(const std::string& name, const std::string& default_value,
                                const std::string& help, double minimum, double maximum) {
  return number(Type::kInteger, name, default_value, help, minimum, maximum);
}

ParameterInfo choice_parameter(const std::string& name, const std::string& default_value,
                               const std::string& help, std::vector<std::string> choices) {
  ParameterInfo info = number(Type::kChoice, name, default_value, help, 0, 0);
  info.choices = std::move(choices);
  return info;
}

ParameterInfo flag_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help) {
  return number(Type::kFlag, name, default_value, help, 0, 0);
}

ParameterInfo share_parameter(const std::string& name, const std::string& default_value,
                              const std::string& help) {
  return above_minimum(real_parameter(name, default_value, help, 0, 1));
}

std::vector<ParameterInfo> join(std::vector<std::vector<ParameterInfo>> lists) {
  std::vector<ParameterInfo> all;
  for (auto& list : lists) {
    for (ParameterInfo& info : list) all.push_back(std::move(info));
  }
  return all;
}

std::vector<ParameterInfo> ratio_parameters(const std::string& default_value,
                                            const std::string& name) {
  ParameterInfo warmup = share_parameter(
      "warmup", "none", "ratios of the first epochs; 0.25/0.0625/0.015625/0.004 is DGC's");
  warmup.type = Type::kRealList;
  return {share_parameter(name, default_value, "fraction of the elements to send, k / d"), warmup};
}

RatioSchedule ratio_of(const Parameters& parameters, const std::string& name) {
  return {.ratio = parameters.real(name), .warmup = parameters.reals("warmup")};
}

std::vector<ParameterInfo> memory_parameters(const std::string& default_memory,
                                             const std::string& default_delay,
                                             const std::string& default_decay) {
  return {
      choice_parameter("memory", default_memory, "how unsent values are carried over",
                       {"none", "residual", "clear", "momentum", "ef21"}),
      real_parameter("decay", default_decay,
                     "factor on the residual in every step (memory=residual|clear)", 0, 1),
      real_parameter("momentum", "0.9", "factor on the velocity (memory=momentum)", 0, 1),
      flag_parameter("nesterov", "false", "use Nesterov momentum (memory=momentum)"),
      flag_parameter("masking", "true", "zero the velocity of sent elements (memory=momentum)"),
      real_parameter("clip", "0", "limit of the gradient's L2 norm over all workers; 0: none", 0,
                     1e30),
      integer_parameter("workers", "1", "number of workers that share the limit of clip", 1, 1e6),
      integer_parameter("delay", default_delay, "steps accumulated for one exchange", 1, 1e6)};
}

std::unique_ptr<Memory> make_memory(const Parameters& parameters, std::size_t elements) {
  const std::string& kind = parameters.choice("memory");
  const double clip = parameters.real("clip");
  std::unique_ptr<Memory> memory;
  if (kind == "none") {
    memory = make_no_memory(elements, clip > 0 || period_of(parameters) > 1);
  } else if (kind == "residual" || kind == "clear") {
    const auto make = kind == "clear" ? make_clear_memory : make_residual_memory;
    memory = make(elements, static_cast<float>(parameters.real("decay")));
  } else if (kind == "ef21") {
    memory = make_ef21_memory(elements);
  } else {
    memory =
        make_momentum_memory(elements, {.momentum = static_cast<float>(parameters.real("momentum")),
                                        .nesterov = parameters.flag("nesterov"),
                                        .masking = parameters.flag("masking")});
  }
  if (clip == 0) return memory;
  return make_clipped_memory(std::move(memory), clip,
                             static_cast<int>(parameters.integer("workers")));
}

std::uint64_t period_of(const Parameters& parameters) { return parameters.count("delay"); }

std::function<EncodeTraffic(const Parameters&)> traffic_with_memory(
    std::function<EncodeTraffic(const Parameters&)> own) {
  return [own = std::move(own)](const Parameters& parameters) {
    EncodeTraffic traffic = own ? own(parameters) : EncodeTraffic{};
    const std::string& kind = parameters.choice("memory");
    const bool clips = parameters.real("clip") > 0;
    if (kind == "none") {
      // The norm needs all elements; the factor can be applied to the values that are sent.
      if (clips) traffic.inputs = std::max(traffic.inputs, 1.0);
      return traffic;
    }
    // Every element of the sum of gradient and memory changes, so the norm must be known before.
    if (clips) ++traffic.sweeps;
    if (kind == "ef21") {
      ++traffic.sweeps;  // reads the estimate; a sparse method writes it only where it sends
    } else {
      traffic.residual = true;
    }
    if (kind == "momentum") ++traffic.states;  // the velocity
    return traffic;
  };
}

std::vector<ParameterInfo> encoding_parameters(const std::string& default_values,
                                               const std::string& default_positions) {
  // A default that is not in the list is the method's own codec.
  const auto choices = [](const std::string& own, std::vector<std::string> names) {
    add_once(names, own);
    return names;
  };
  return {choice_parameter("values", default_values, "encoding of the values",
                           choices(default_values, value_codec_names())),
          choice_parameter("positions", default_positions, "encoding of the positions",
                           choices(default_positions, position_codec_names()))};
}

StateIdentity identity_of(const Parameters& parameters, const TensorInfo& tensor) {
  return {.spec = parameters.text(), .tensor = tensor.name, .elements = tensor.elements};
}

void check_size(const StateIdentity& identity, const char* what, std::size_t found) {
  if (found == identity.elements) return;
  throw InputError("tensor '" + identity.tensor + "': " + what + " has " + std::to_string(found) +
                   " elements; expected " + std::to_string(identity.elements));
}

void check_room(const StateIdentity& identity, std::size_t found, std::size_t needed) {
  if (found >= needed) return;
  throw InputError("tensor '" + identity.tensor + "': the payload buffer has " +
                   std::to_string(found) + " bytes; expected at least " + std::to_string(needed));
}

}  // namespace thinpipe
