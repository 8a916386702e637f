#include "workloads/collectives/collectives.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/collectives/flows.h"

namespace thinpipe {

namespace {

// The vector is in a function, since other files' collectives register during initialisation.
std::vector<CollectiveInfo>& registry() {
  static std::vector<CollectiveInfo> all;
  return all;
}

// Implemented in mpi_collectives.cc.
const CollectiveRegistration kOpenMpi{
    {.name = "openmpi",
     .summary = "MPI_Allreduce and MPI_Allgatherv by Open MPI's own choice of algorithm; traffic "
                "is not counted",
     .source = "Open MPI 4.1, coll/tuned",
     .reduce = ReduceForm{},
     .gather = GatherForm{}}};

// Returns the names of all collectives, or of those that can do an exchange.
std::vector<std::string> names_of_collectives(std::optional<Exchange> exchange = std::nullopt) {
  std::vector<std::string> names;
  for (const CollectiveInfo& collective : collectives())
    if (!exchange || collective.can(*exchange)) names.push_back(collective.name);
  return names;
}

bool is_collective(const std::string& name) {
  return std::any_of(collectives().begin(), collectives().end(),
                     [&](const CollectiveInfo& known) { return known.name == name; });
}

std::string can_do(Exchange exchange) {
  return fmt::format("{}", fmt::join(names_of_collectives(exchange), ", "));
}

// Returns the operation that the compressor's payloads need.
Exchange needed_by(const Spec& compressor, const CollectiveInfo& collective) {
  if (collective.can(Exchange::kPushPull)) return Exchange::kPushPull;  // whatever the payload is
  if (collective.can(Exchange::kSparseAllReduce) && find_method(compressor.name).has_pairs)
    return Exchange::kSparseAllReduce;
  return aggregation_of(compressor) == Aggregation::kAllReduce ? Exchange::kAllReduce
                                                               : Exchange::kAllGather;
}

}  // namespace

const char* to_string(Exchange exchange) {
  constexpr const char* kNames[] = {"allreduce", "allgather", "sparsereduce", "pushpull"};
  return kNames[static_cast<std::size_t>(exchange)];
}

void sum_over_ranks(std::span<const std::span<const float>> arrays, float factor,
                    std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const auto& array : arrays) sum += static_cast<double>(array[i]);
    out[i] = static_cast<float>(sum * static_cast<double>(factor));
  }
}

const std::vector<std::span<const std::byte>>& AllGather::gather_staged(StagedGather& staged) {
  while (staged.ready() < staged.own().size()) std::this_thread::yield();
  const auto& messages = all_gather(staged.own());
  for (std::size_t rank = 0; rank < messages.size(); ++rank)
    staged.arrived(static_cast<int>(rank), messages[rank]);
  return messages;
}

bool CollectiveInfo::can(Exchange exchange) const {
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

std::vector<Exchange> CollectiveInfo::exchanges() const {
  std::vector<Exchange> all;
  for (const Exchange exchange : {Exchange::kSparseAllReduce, Exchange::kAllReduce,
                                  Exchange::kAllGather, Exchange::kPushPull})
    if (can(exchange)) all.push_back(exchange);
  return all;
}

CollectiveRegistration::CollectiveRegistration(CollectiveInfo info) {
  const auto before = [](const CollectiveInfo& one, const CollectiveInfo& other) {
    return std::pair(one.name != "ring", one.name) < std::pair(other.name != "ring", other.name);
  };
  std::vector<CollectiveInfo>& all = registry();
  all.insert(std::upper_bound(all.begin(), all.end(), info, before), std::move(info));
}

const std::vector<CollectiveInfo>& collectives() { return registry(); }

const CollectiveInfo& find_collective(const std::string& name) {
  for (const CollectiveInfo& collective : collectives())
    if (collective.name == name) return collective;
  const std::vector<std::string> names = names_of_collectives();
  throw InputError(fmt::format("unknown collective {} (known: {}){}", in_quotes(name),
                               fmt::join(names, ", "), did_you_mean(name, names)));
}

void check_collective(const Spec& spec) { collective_parameters(spec); }

Parameters collective_parameters(const Spec& collective) {
  return {find_collective(collective.name).parameters, collective};
}

void check_collective(const Spec& spec, int ranks) {
  const CollectiveInfo& info = find_collective(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (info.check_ranks != nullptr) info.check_ranks(parameters, ranks);
}

std::vector<Spec> expand_collectives(std::string_view text) {
  std::vector<std::string> whole;
  for (const std::string& piece : split(text, '|')) {
    const bool in_value = !whole.empty() && whole.back().find('=') != std::string::npos;
    if (in_value && !is_collective(piece.substr(0, piece.find(':'))))
      whole.back() += "|" + piece;
    else
      whole.push_back(piece);
  }
  std::vector<Spec> specs;
  for (const std::string& one : whole)
    for (const Spec& spec : expand_specs(one)) {
      check_collective(spec);
      add_once(specs, spec);
    }
  return specs;
}

Exchange exchange_of(const Spec& collective, const Spec& compressor) {
  check_collective(collective);
  const CollectiveInfo& info = find_collective(collective.name);
  const Exchange exchange = needed_by(compressor, info);
  if (!info.can(exchange))
    throw InputError(fmt::format(
        "collective {} has no {}, which compressor {} needs{}; {} have it",
        in_quotes(collective.to_string()), to_string(exchange), in_quotes(compressor.to_string()),
        info.can(Exchange::kSparseAllReduce) ? ", whose payloads are not pairs of index and value"
                                             : "",
        can_do(exchange)));
  if (info.refuses == nullptr) return exchange;
  if (const std::string why = info.refuses(collective, compressor); !why.empty())
    throw InputError(fmt::format("collective {} with compressor {}: {}",
                                 in_quotes(collective.to_string()),
                                 in_quotes(compressor.to_string()), why));
  return exchange;
}

int servers_of(const Spec& collective) {
  const CollectiveInfo& info = find_collective(collective.name);
  if (info.push_pull == nullptr) return 0;
  const PushPullOptions options = push_pull_options(collective, 1);
  return options.colocated ? 0 : options.servers;
}

bool serves(const Spec& collective, const Spec& compressor) {
  const CollectiveInfo& info = find_collective(collective.name);
  return info.can(needed_by(compressor, info)) &&
         (info.refuses == nullptr || info.refuses(collective, compressor).empty());
}

std::unique_ptr<Collective> make_collective(const Spec& spec, std::unique_ptr<Transport> transport,
                                            std::size_t capacity) {
  const CollectiveInfo& info = find_collective(spec.name);
  const Parameters parameters(info.parameters, spec);
  if (!info.over_transport())
    throw InputError("collective " + in_quotes(spec.name) + " needs more than a transport");
  if (info.make) return info.make(parameters, std::move(transport), capacity);
  return std::make_unique<FlowCollective>(
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
  throw InputError(
      fmt::format("this collective has no {}; {} have it", to_string(exchange), can_do(exchange)));
}

}  // namespace thinpipe
