#include "workloads/collectives/push_pull_options.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "compressors/methods/common.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {

namespace {

constexpr double kMaxServers = 64;

// Returns the parameter `delay` of methods that can accumulate steps; 1 for other methods.
long long delay_of(const Spec& spec) {
  const Parameters parameters = parameters_of(spec);
  return parameters.has("delay") ? parameters.integer("delay") : 1;
}

bool has_memory(const Spec& spec, const char* memory) {
  const Parameters parameters = parameters_of(spec);
  return parameters.has("memory") && parameters.choice("memory") == memory;
}

PushPullOptions of_servers(const Parameters& parameters, int /*workers*/) {
  PushPullOptions options;
  options.servers = static_cast<int>(parameters.integer("servers"));
  options.partition =
      parameters.choice("partition") == "balanced" ? Partition::kBalanced : Partition::kRoundRobin;
  options.pull = parameters.spec("pull");
  options.servers_update = parameters.choice("update") == "servers";
  return options;
}

PushPullOptions of_two_shots(const Parameters& parameters, int workers) {
  PushPullOptions options;
  options.servers = workers;
  options.colocated = true;
  options.pull = parameters.spec("second");
  if (const std::string memory = parameters.choice("second-memory"); memory != "same")
    options.pull_memory = memory;
  return options;
}

// Returns why servers cannot answer payloads of this compressor; "" where they can. Only workers
// have second moments, only pushes may have a delay, and a method that needs whole tensors cannot
// be sliced.
std::string why_not_pulled(const Spec& collective, const Spec& push) {
  const PushPullOptions options = push_pull_options(collective, 1);
  const char* const answers = options.colocated ? "second" : "pull";
  const Spec pull = options.pull_of(push);
  if (find_method(pull.name).needs_squares)
    return fmt::format(
        "{} needs second moments, which the mean does not have; expected another compressor of "
        "the mean, such as {}=none",
        pull.to_string(), answers);
  if (options.pull && delay_of(pull) > 1)
    return fmt::format("{}: a server answers every push; expected delay=1 in {}", pull.to_string(),
                       answers);
  if (options.servers_update && (has_memory(push, "ef21") || has_memory(pull, "ef21")))
    return fmt::format(
        "{} and {}: with update=servers, payloads cannot be changes of an estimate; expected "
        "another memory than ef21",
        push.to_string(), pull.to_string());
  if (!options.colocated) return "";
  for (const Spec& spec : {push, pull}) {
    if (find_method(spec.name).needs_whole)
      return fmt::format("{} needs tensors as a whole, but ranks have slices", spec.to_string());
    if (clips(spec))
      return fmt::format("{} clips by the norm of a whole tensor, but ranks have slices",
                         spec.to_string());
  }
  return "";
}

const CollectiveRegistration kPs{
    {.name = "ps",
     .summary = "parameter servers: workers push payloads, servers average them and compress the "
                "mean once for all workers",
     .source = "Lim et al., 3LC, section 3 and figure 2, arXiv 1802.07389",
     .parameters =
         {integer_parameter("servers", "1", "server ranks, each with a link of its own", 1,
                            kMaxServers),
          {.name = "pull",
           .type = ParameterInfo::Type::kSpec,
           .default_value = "same",
           .help = "compressor of the servers' answers; same: the compressor of the pushes",
           .choices = {}},
          choice_parameter(
              "partition", "balanced",
              "assignment of tensors: largest first to the least loaded server, or in turn",
              {"balanced", "round-robin"}),
          choice_parameter("update", "workers",
                           "place of the optimiser: on each worker, to which servers send the mean "
                           "gradient; or on the servers, which send changes of the model (only "
                           "`train`)",
                           {"workers", "servers"})},
     .push_pull = of_servers,
     .refuses = why_not_pulled}};

const CollectiveRegistration kTwoShot{
    {.name = "twoshot",
     .summary =
         "every rank averages a slice of each array, compresses the mean, and sends it to all",
     .source = "1-bit Adam (Tang et al. 2021), fig. 3; ZeRO++'s qgZ without groups",
     .parameters =
         {{.name = "second",
           .type = ParameterInfo::Type::kSpec,
           .default_value = "same",
           .help = "compressor of the mean of each rank's slices; same: that of the first exchange",
           .choices = {}},
          choice_parameter("second-memory", "same",
                           "error feedback of the second compression: residual, none, or its "
                           "compressor's own setting (same)",
                           {"same", "residual", "none"})},
     .push_pull = of_two_shots,
     .refuses = why_not_pulled}};

}  // namespace

std::vector<int> partition_units(std::span<const std::size_t> elements, int servers,
                                 Partition partition) {
  std::vector<int> server_of(elements.size());
  if (partition == Partition::kRoundRobin) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      server_of[i] = static_cast<int>(i % static_cast<std::size_t>(servers));
    return server_of;
  }
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties between units of one size, and between servers of equal load, go to the first.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
  std::vector<std::size_t> load(static_cast<std::size_t>(servers));
  for (const std::size_t unit : order) {
    const auto least = std::min_element(load.begin(), load.end());
    server_of[unit] = static_cast<int>(least - load.begin());
    *least += elements[unit];
  }
  return server_of;
}

bool clips(const Spec& spec) {
  const Parameters parameters = parameters_of(spec);
  return parameters.has("clip") && parameters.real("clip") > 0;
}

Spec PushPullOptions::pull_of(const Spec& push) const {
  Spec answer = pull ? *pull : push;
  if (pull_memory.empty()) return answer;
  if (!parameters_of(answer).has("memory"))
    throw InputError(fmt::format("{} has no memory; expected second-memory=same",
                                 in_quotes(answer.to_string())));
  answer.values["memory"] = pull_memory;
  return answer;
}

PushPullOptions push_pull_options(const Spec& collective, int workers) {
  const CollectiveInfo& info = find_collective(collective.name);
  return info.push_pull(Parameters(info.parameters, collective), workers);
}

}  // namespace thinpipe
