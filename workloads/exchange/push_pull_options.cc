#include "workloads/exchange/push_pull_options.h"

#include <fmt/format.h>

#include "workloads/exchange/patterns.h"

namespace thinpipe {

namespace {

constexpr double kMostServers = 64;

// The parameter of every method that can hold steps back; 1 where there is none.
long long delay_of(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  for (const ParameterInfo& info : method.parameters)
    if (info.name == "delay") return Parameters(method.parameters, spec).integer("delay");
  return 1;
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

PushPullOptions push_pull_options(const Parameters& parameters) {
  PushPullOptions options;
  options.servers = static_cast<int>(parameters.integer("servers"));
  options.partition =
      parameters.choice("partition") == "balanced" ? Partition::kBalanced : Partition::kRoundRobin;
  options.pull = parameters.spec("pull");
  return options;
}

PushPullOptions push_pull_options(const Spec& pattern) {
  return push_pull_options(Parameters(find_pattern(pattern.name).parameters, pattern));
}

std::string why_not_pulled(const Parameters& parameters, const Spec& push) {
  const PushPullOptions options = push_pull_options(parameters);
  const Spec& pull = options.pull_of(push);
  if (find_method(pull.name).needs_squares)
    return fmt::format(
        "a server has no second moments of what it would compress with {}; expected another method "
        "to pull with, such as pull=none",
        pull.to_string());
  if (options.pull && delay_of(pull) > 1)
    return fmt::format("{}: a server answers every push; expected delay=1 in pull",
                       pull.to_string());
  return "";
}

}  // namespace thinpipe
