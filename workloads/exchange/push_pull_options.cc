#include "workloads/exchange/push_pull_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "compressors/methods/common.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {

namespace {

constexpr double kMostServers = 64;

// The parameter of every method that can hold steps back; 1 where there is none.
long long delay_of(const Spec& spec) {
  const Parameters parameters = parameters_of(spec);
  return parameters.has("delay") ? parameters.integer("delay") : 1;
}

PushPullOptions of_servers(const Parameters& parameters, int /*workers*/) {
  PushPullOptions options;
  options.servers = static_cast<int>(parameters.integer("servers"));
  options.partition =
      parameters.choice("partition") == "balanced" ? Partition::kBalanced : Partition::kRoundRobin;
  options.pull = parameters.spec("pull");
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

// Why servers cannot answer payloads of this compressor; "" where they can. Second moments are the
// workers'; a delay is that of the push alone; and what needs a tensor as a whole cannot be
// sliced.
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
    if (find_method(spec.name).needs_whole)
      return fmt::format("{} needs tensors as a whole, and ranks have slices", spec.to_string());
    if (clips(spec))
      return fmt::format("{} clips by the norm of a whole tensor, and ranks have slices",
                         spec.to_string());
  }
  return "";
}

const PatternRegistration kPs{
    {.name = "ps",
     .summary =
         "parameter servers: payloads are pushed, averaged, and compressed once for all to pull",
     .source = "Lim et al., 3LC, section 3 and figure 2, arXiv 1802.07389",
     .parameters =
         {integer_parameter("servers", "1", "ranks beside the workers, on links of their own", 1,
                            kMostServers),
          {.name = "pull",
           .type = ParameterInfo::Type::kSpec,
           .default_value = "same",
           .help = "what servers compress with, once for all workers; same: as it is pushed",
           .choices = {}},
          choice_parameter(
              "partition", "balanced",
              "how tensors are dealt to servers: the largest first to who has least, or in turn",
              {"balanced", "round-robin"})},
     .push_pull = of_servers,
     .refuses = why_not_pulled}};

const PatternRegistration kTwoShot{
    {.name = "twoshot",
     .summary =
         "every rank averages a slice of each array, compresses it once more, and all get it",
     .source = "1-bit Adam (Tang et al. 2021), fig. 3; ZeRO++'s qgZ without groups",
     .parameters =
         {{.name = "second",
           .type = ParameterInfo::Type::kSpec,
           .default_value = "same",
           .help =
               "what each rank compresses the mean of its slices with; same: as it is sent first",
           .choices = {}},
          choice_parameter("second-memory", "same",
                           "what the second compression keeps of what it left out: residual, "
                           "none, or as its compressor says (same)",
                           {"same", "residual", "none"})},
     .push_pull = of_two_shots,
     .refuses = why_not_pulled}};

}  // namespace

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

PushPullOptions push_pull_options(const Spec& pattern, int workers) {
  const PatternInfo& info = find_pattern(pattern.name);
  return info.push_pull(Parameters(info.parameters, pattern), workers);
}

}  // namespace thinpipe
