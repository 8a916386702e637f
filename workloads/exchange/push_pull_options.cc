#include "workloads/exchange/push_pull_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {

namespace {

constexpr double kMostServers = 64;

bool has_parameter(const Spec& spec, const std::string& name) {
  const std::vector<ParameterInfo>& infos = find_method(spec.name).parameters;
  return std::any_of(infos.begin(), infos.end(),
                     [&](const ParameterInfo& info) { return info.name == name; });
}

// The parameter of every method that can hold steps back; 1 where there is none.
long long delay_of(const Spec& spec) {
  if (!has_parameter(spec, "delay")) return 1;
  return Parameters(find_method(spec.name).parameters, spec).integer("delay");
}

}  // namespace

std::vector<ParameterInfo> push_pull_parameters() {
  using Type = ParameterInfo::Type;
  return {
      {.name = "servers",
       .type = Type::kInteger,
       .default_value = "1",
       .help = "ranks beside the workers, on links of their own",
       .minimum = 1,
       .maximum = kMostServers,
       .choices = {}},
      {.name = "pull",
       .type = Type::kSpec,
       .default_value = "same",
       .help = "what servers compress with, once for all workers; same: as it is pushed",
       .choices = {}},
      {.name = "partition",
       .type = Type::kChoice,
       .default_value = "balanced",
       .help = "how tensors are dealt to servers: the largest first to who has least, or in turn",
       .choices = {"balanced", "round-robin"}},
  };
}

std::vector<ParameterInfo> two_shot_parameters() {
  using Type = ParameterInfo::Type;
  return {
      {.name = "second",
       .type = Type::kSpec,
       .default_value = "same",
       .help = "what each rank compresses the mean of its slices with; same: as it is sent first",
       .choices = {}},
      {.name = "second-memory",
       .type = Type::kChoice,
       .default_value = "same",
       .help = "what the second compression keeps of what it left out: residual, none, or as its "
               "compressor says (same)",
       .choices = {"same", "residual", "none"}},
  };
}

Spec PushPullOptions::pull_of(const Spec& push) const {
  Spec answer = pull ? *pull : push;
  if (pull_memory.empty()) return answer;
  if (!has_parameter(answer, "memory"))
    throw InputError(fmt::format("{} has no memory; expected second-memory=same",
                                 in_quotes(answer.to_string())));
  answer.values["memory"] = pull_memory;
  return answer;
}

PushPullOptions push_pull_options(const Spec& pattern, int workers) {
  const Parameters parameters = pattern_parameters(pattern);
  PushPullOptions options;
  if (pattern.name == "twoshot") {
    options.servers = workers;
    options.colocated = true;
    options.pull = parameters.spec("second");
    if (const std::string memory = parameters.choice("second-memory"); memory != "same")
      options.pull_memory = memory;
    return options;
  }
  options.servers = static_cast<int>(parameters.integer("servers"));
  options.partition =
      parameters.choice("partition") == "balanced" ? Partition::kBalanced : Partition::kRoundRobin;
  options.pull = parameters.spec("pull");
  return options;
}

std::string why_not_pulled(const Spec& pattern, const Spec& push) {
  const PushPullOptions options = push_pull_options(pattern, 1);
  const char* const answers = options.colocated ? "second" : "pull";
  const Spec pull = options.pull_of(push);
  if (find_method(pull.name).needs_squares)
    return fmt::format(
        "a server has no second moments of what it would compress with {}; expected another method "
        "to answer with, such as {}=none",
        pull.to_string(), answers);
  if (options.pull && delay_of(pull) > 1)
    return fmt::format("{}: a server answers every push; expected delay=1 in {}", pull.to_string(),
                       answers);
  if (!options.colocated) return "";
  for (const Spec& spec : {push, pull}) {
    const MethodInfo& method = find_method(spec.name);
    if (method.needs_whole)
      return fmt::format("{} needs tensors as a whole, and ranks have slices", spec.to_string());
    if (has_parameter(spec, "clip") && Parameters(method.parameters, spec).real("clip") > 0)
      return fmt::format("{} clips by the norm of a whole tensor, and ranks have slices",
                         spec.to_string());
  }
  return "";
}

}  // namespace thinpipe
