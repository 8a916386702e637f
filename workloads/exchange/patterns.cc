#include "workloads/exchange/patterns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/exchange/flows.h"

namespace thinpipe {

namespace {

// In a function: patterns of other files register while these are initialised.
std::vector<PatternInfo>& registry() {
  static std::vector<PatternInfo> all;
  return all;
}

// Carried out in mpi_patterns.cc.
const PatternRegistration kOpenMpi{
    {.name = "openmpi",
     .summary = "MPI_Allreduce and MPI_Allgatherv as Open MPI decides; what was sent is not known",
     .source = "Open MPI 4.1, coll/tuned",
     .reduce = ReduceForm{},
     .gather = GatherForm{}}};

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
  switch (exchange) {
    case Exchange::kAllReduce:
      return reduce.has_value();
    case Exchange::kAllGather:
      return gather.has_value();
    case Exchange::kSparseAllReduce:
      return sparse.has_value();
    case Exchange::kPushPull:
      return push_pull != nullptr;
  }
  return false;
}

std::vector<Exchange> PatternInfo::exchanges() const {
  std::vector<Exchange> all;
  for (const Exchange exchange : {Exchange::kSparseAllReduce, Exchange::kAllReduce,
                                  Exchange::kAllGather, Exchange::kPushPull})
    if (can(exchange)) all.push_back(exchange);
  return all;
}

PatternRegistration::PatternRegistration(PatternInfo info) {
  const auto before = [](const PatternInfo& one, const PatternInfo& other) {
    return std::pair(one.name != "ring", one.name) < std::pair(other.name != "ring", other.name);
  };
  std::vector<PatternInfo>& all = registry();
  all.insert(std::upper_bound(all.begin(), all.end(), info, before), std::move(info));
}

const std::vector<PatternInfo>& patterns() { return registry(); }

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

void check_pattern(const Spec& spec, int ranks) {
  const PatternInfo& info = find_pattern(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (info.check_ranks != nullptr) info.check_ranks(parameters, ranks);
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
  if (info.refuses == nullptr) return exchange;
  if (const std::string why = info.refuses(pattern, compressor); !why.empty())
    throw InputError(fmt::format("pattern {} with compressor {}: {}",
                                 in_quotes(pattern.to_string()), in_quotes(compressor.to_string()),
                                 why));
  return exchange;
}

int servers_of(const Spec& pattern) {
  const PatternInfo& info = find_pattern(pattern.name);
  if (info.push_pull == nullptr) return 0;
  const PushPullOptions options = push_pull_options(pattern, 1);
  return options.colocated ? 0 : options.servers;
}

bool serves(const Spec& pattern, const Spec& compressor) {
  const PatternInfo& info = find_pattern(pattern.name);
  return info.can(needed_by(compressor, info)) &&
         (info.refuses == nullptr || info.refuses(pattern, compressor).empty());
}

std::unique_ptr<Pattern> make_pattern(const Spec& spec, std::unique_ptr<Transport> transport,
                                      std::size_t capacity) {
  const PatternInfo& info = find_pattern(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (!info.over_transport())
    throw InputError("pattern " + in_quotes(spec.name) + " is not over a transport alone");
  if (info.make) return info.make(parameters, std::move(transport), capacity);
  return std::make_unique<FlowPattern>(
      std::move(transport),
      [&info, parameters](int ranks, int rank) {
        return info.reduce->plan(parameters, ranks, rank);
      },
      [&info, parameters](int ranks, int rank) {
        return info.gather->plan(parameters, ranks, rank);
      },
      capacity);
}

void refuse_exchange(Exchange exchange) {
  throw InputError(fmt::format("this exchange pattern has no {}; {} have it", to_string(exchange),
                               can_do(exchange)));
}

}  // namespace thinpipe
