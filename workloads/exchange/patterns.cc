#include "workloads/exchange/patterns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/exchange/flows.h"
#include "workloads/exchange/plans.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/exchange/qgz.h"
#include "workloads/exchange/sparse_patterns.h"

namespace thinpipe {

namespace {

const std::vector<Exchange> kDenseAndGather = {Exchange::kAllReduce, Exchange::kAllGather};

PatternInfo::Factory planned(const AllReducePlanner& reduce, const AllGatherPlanner& gather) {
  return [reduce, gather](const Parameters&, std::unique_ptr<Transport> transport,
                          std::size_t capacity) -> std::unique_ptr<Pattern> {
    return std::make_unique<FlowPattern>(std::move(transport), reduce, gather, capacity);
  };
}

std::unique_ptr<Pattern> make_hierarchical(const Parameters& parameters,
                                           std::unique_ptr<Transport> transport,
                                           std::size_t capacity) {
  const int group = static_cast<int>(parameters.integer("group"));
  return std::make_unique<FlowPattern>(
      std::move(transport),
      [group](int ranks, int rank) { return hierarchical_all_reduce(ranks, rank, group); },
      [group](int ranks, int rank) { return hierarchical_all_gather(ranks, rank, group); },
      capacity);
}

std::vector<PatternInfo> all_patterns() {
  return {
      {.name = "ring",
       .summary = "every rank sends to the next: reduce-scatter and all-gather, in segments",
       .source = "Variance-based Gradient Compression, section 5",
       .parameters = {},
       .exchanges = kDenseAndGather,
       .make = planned(ring_all_reduce, ring_all_gather)},
      {.name = "recursive-doubling",
       .summary = "ranks 1, 2, 4, ... apart exchange all they have: the fewest steps, more bytes",
       .source = "Thakur, Rabenseifner and Gropp 2005; all-gather by Bruck et al. 1997",
       .parameters = {},
       .exchanges = kDenseAndGather,
       .make = planned(recursive_doubling_all_reduce, recursive_doubling_all_gather)},
      {.name = "halving-doubling",
       .summary =
           "reduce-scatter by halves, all-gather by doubling: few steps, as few bytes as a ring",
       .source = "Rabenseifner 2004; all-gather by Bruck et al. 1997",
       .parameters = {},
       .exchanges = kDenseAndGather,
       .make = planned(halving_doubling_all_reduce, recursive_doubling_all_gather)},
      {.name = "tree",
       .summary = "up a binomial tree to rank 0 and down again, in segments",
       .source = "Thakur, Rabenseifner and Gropp 2005",
       .parameters = {},
       .exchanges = kDenseAndGather,
       .make = planned(tree_all_reduce, tree_all_gather)},
      {.name = "hierarchical",
       .summary = "groups of consecutive ranks: reduce-scatter in each, rings through the groups, "
                  "all-gather in each",
       .source = "the two levels of NCCL and BlueConnect (Cho et al. 2019)",
       .parameters = {{.name = "group",
                       .type = ParameterInfo::Type::kInteger,
                       .default_value = "4",
                       .help = "ranks of a group; the last one may have fewer",
                       .minimum = 1,
                       .maximum = 1024,
                       .choices = {}}},
       .exchanges = kDenseAndGather,
       .make = make_hierarchical},
      {.name = "openmpi",
       .summary =
           "MPI_Allreduce and MPI_Allgatherv as Open MPI decides; what was sent is not known",
       .source = "Open MPI 4.1, coll/tuned",
       .parameters = {},
       .exchanges = kDenseAndGather,
       .make = {}},
      gtopk_pattern(),
      oktopk_pattern(),
      qgz_pattern(),
      {.name = "ps",
       .summary =
           "parameter servers: payloads are pushed, averaged, and compressed once for all to pull",
       .source = "Lim et al., 3LC, section 3 and figure 2, arXiv 1802.07389",
       .parameters = push_pull_parameters(),
       .exchanges = {Exchange::kPushPull},
       .make = {},
       .refuses = why_not_pulled},
      {.name = "twoshot",
       .summary =
           "every rank averages a slice of each array, compresses it once more, and all get it",
       .source = "1-bit Adam (Tang et al. 2021), fig. 3; ZeRO++'s qgZ without groups",
       .parameters = two_shot_parameters(),
       .exchanges = {Exchange::kPushPull},
       .make = {},
       .refuses = why_not_pulled},
  };
}

std::vector<std::string> names_of_patterns() {
  std::vector<std::string> names;
  for (const PatternInfo& pattern : patterns()) names.push_back(pattern.name);
  return names;
}

bool is_pattern(const std::string& name) {
  const std::vector<std::string> names = names_of_patterns();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string can_do(Exchange exchange) {
  std::vector<std::string> names;
  for (const PatternInfo& pattern : patterns())
    if (pattern.can(exchange)) names.push_back(pattern.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Which operation the compressor's payloads need.
Exchange needed_by(const Spec& compressor, const PatternInfo& pattern) {
  if (pattern.can(Exchange::kPushPull)) return Exchange::kPushPull;  // whatever the payload is
  if (pattern.can(Exchange::kSparseAllReduce) && find_method(compressor.name).has_pairs)
    return Exchange::kSparseAllReduce;
  return aggregation_of(compressor) == Aggregation::kAllReduce ? Exchange::kAllReduce
                                                               : Exchange::kAllGather;
}

}  // namespace

const char* to_string(Exchange exchange) {
  switch (exchange) {
    case Exchange::kAllReduce:
      return "allreduce";
    case Exchange::kAllGather:
      return "allgather";
    case Exchange::kSparseAllReduce:
      return "sparsereduce";
    case Exchange::kPushPull:
      return "pushpull";
  }
  return "";
}

bool PatternInfo::can(Exchange exchange) const {
  return std::find(exchanges.begin(), exchanges.end(), exchange) != exchanges.end();
}

const std::vector<PatternInfo>& patterns() {
  static const std::vector<PatternInfo> all = all_patterns();
  return all;
}

const PatternInfo& find_pattern(const std::string& name) {
  for (const PatternInfo& pattern : patterns())
    if (pattern.name == name) return pattern;
  const std::vector<std::string> names = names_of_patterns();
  throw InputError(fmt::format("unknown exchange pattern {}{}; known are {}", in_quotes(name),
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

void check_pattern(const Spec& spec) { pattern_parameters(spec); }

Parameters pattern_parameters(const Spec& pattern) {
  return {find_pattern(pattern.name).parameters, pattern};
}

int pattern_group(const Spec& pattern) {
  return static_cast<int>(pattern_parameters(pattern).integer("group"));
}

bool reduces_by_ring(const Spec& pattern) {
  return pattern.name == "ring" || pattern.name == "gtopk" || pattern.name == "oktopk";
}

void check_pattern(const Spec& spec, int ranks) {
  const PatternInfo& info = find_pattern(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (info.check_ranks) info.check_ranks(parameters, ranks);
}

std::vector<Spec> expand_patterns(std::string_view text) {
  std::vector<std::string> whole;
  for (const std::string& piece : split(text, '|')) {
    const bool in_value = !whole.empty() && whole.back().find('=') != std::string::npos;
    if (in_value && !is_pattern(piece.substr(0, piece.find(':'))))
      whole.back() += "|" + piece;
    else
      whole.push_back(piece);
  }
  std::vector<Spec> specs;
  for (const std::string& one : whole)
    for (const Spec& spec : expand_specs(one)) {
      check_pattern(spec);
      if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(spec);
    }
  return specs;
}

Exchange exchange_of(const Spec& pattern, const Spec& compressor) {
  check_pattern(pattern);
  const PatternInfo& info = find_pattern(pattern.name);
  const Exchange exchange = needed_by(compressor, info);
  if (!info.can(exchange))
    throw InputError(fmt::format(
        "pattern {} has no {}, which compressor {} needs{}; {} have it",
        in_quotes(pattern.to_string()), to_string(exchange), in_quotes(compressor.to_string()),
        info.can(Exchange::kSparseAllReduce) ? ", whose payloads are no elements with positions"
                                             : "",
        can_do(exchange)));
  if (!info.refuses) return exchange;
  if (const std::string why = info.refuses(pattern, compressor); !why.empty())
    throw InputError(fmt::format("pattern {} with compressor {}: {}",
                                 in_quotes(pattern.to_string()), in_quotes(compressor.to_string()),
                                 why));
  return exchange;
}

int servers_of(const Spec& pattern) {
  const PatternInfo& info = find_pattern(pattern.name);
  const Parameters parameters(info.parameters, pattern);
  return pattern.name == "ps" ? static_cast<int>(parameters.integer("servers")) : 0;
}

bool serves(const Spec& pattern, const Spec& compressor) {
  const PatternInfo& info = find_pattern(pattern.name);
  return info.can(needed_by(compressor, info)) &&
         (!info.refuses || info.refuses(pattern, compressor).empty());
}

std::unique_ptr<Pattern> make_pattern(const Spec& spec, std::unique_ptr<Transport> transport,
                                      std::size_t capacity) {
  const PatternInfo& info = find_pattern(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (!info.make)
    throw InputError("pattern " + in_quotes(spec.name) + " is not over a transport alone");
  return info.make(parameters, std::move(transport), capacity);
}

void refuse_exchange(Exchange exchange) {
  throw InputError(fmt::format("this exchange pattern has no {}; {} have it", to_string(exchange),
                               can_do(exchange)));
}

}  // namespace thinpipe
