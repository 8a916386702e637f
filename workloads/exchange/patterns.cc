#include "workloads/exchange/patterns.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/exchange/ring_pattern.h"

namespace thinpipe {

namespace {

std::vector<PatternInfo> all_patterns() {
  return {
      {.name = "ring",
       .summary =
           "pipelined rings: reduce-scatter and all-gather, or messages passed on in segments",
       .source = "Variance-based Gradient Compression, section 5",
       .parameters = {},
       .exchanges = {Exchange::kAllReduce, Exchange::kAllGather},
       .make = [](const Parameters&, std::unique_ptr<Transport> transport,
                  std::size_t capacity) -> std::unique_ptr<Pattern> {
         return std::make_unique<RingPattern>(std::move(transport), capacity);
       }},
      {.name = "openmpi",
       .summary =
           "MPI_Allreduce and MPI_Allgatherv as Open MPI decides; what was sent is not known",
       .source = "Open MPI 4.1, coll/tuned",
       .parameters = {},
       .exchanges = {Exchange::kAllReduce, Exchange::kAllGather},
       .make = {}},
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
Exchange needed_by(const Spec& compressor) {
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
  throw InputError(fmt::format("unknown exchange pattern '{}'{}; known are {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

void check_pattern(const Spec& spec) { Parameters(find_pattern(spec.name).parameters, spec); }

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
  const Exchange exchange = needed_by(compressor);
  if (!find_pattern(pattern.name).can(exchange))
    throw InputError(fmt::format("pattern '{}' has no {}, which compressor '{}' needs; {} have it",
                                 pattern.to_string(), to_string(exchange), compressor.to_string(),
                                 can_do(exchange)));
  return exchange;
}

bool serves(const Spec& pattern, const Spec& compressor) {
  return find_pattern(pattern.name).can(needed_by(compressor));
}

std::unique_ptr<Pattern> make_pattern(const Spec& spec, std::unique_ptr<Transport> transport,
                                      std::size_t capacity) {
  const PatternInfo& info = find_pattern(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (!info.make) throw InputError("pattern '" + spec.name + "' runs over MPI only");
  return info.make(parameters, std::move(transport), capacity);
}

void refuse_exchange(Exchange exchange) {
  throw InputError(fmt::format("this exchange pattern has no {}; {} have it", to_string(exchange),
                               can_do(exchange)));
}

}  // namespace thinpipe
