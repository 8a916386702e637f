// The registry of collectives: each one's operations, parameters and factory, by name.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/registry.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/flow_graph.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// The all-reduce of a collective, as functions of the collective's parameters. They are null if
/// the collective's messages are not known.
struct ReduceForm {
  /// Returns a rank's sends and additions (plans.h); null if the collective has no plans.
  AllReducePlan (*plan)(const Parameters&, int ranks, int rank) = nullptr;
  /// Returns a rank's messages and bytes, sent and received.
  Traffic (*traffic)(const Parameters&, const SummedArray&, int ranks, int rank) = nullptr;
  /// Returns the length of the longest chain of messages, each of one segment.
  int (*steps)(const Parameters&, int ranks) = nullptr;
  /// Returns the least number of messages of all ranks, which is reached if no slice is larger than
  /// one segment (segments.h).
  double (*messages)(const Parameters&, int ranks) = nullptr;
  /// Returns the messages for `elements` floats; null if they follow from the plan.
  FlowGraph (*flows)(const Parameters&, std::size_t elements, int ranks) = nullptr;
};

/// The all-gather of a collective likewise, for more than one rank.
struct GatherForm {
  AllGatherPlan (*plan)(const Parameters&, int ranks, int rank) = nullptr;
  Traffic (*traffic)(const Parameters&, const MessageVolume&, int rank) = nullptr;
  int (*steps)(const Parameters&, int ranks) = nullptr;
  FlowGraph (*flows)(const Parameters&, std::span<const std::size_t> sizes) = nullptr;
};

/// The sparse all-reduce of a collective likewise. It selects elements again from the sums.
struct SparseForm {
  SparseTraffic (*traffic)(const Parameters&, const SparseSizes&, int ranks, int rank);
  int (*steps)(const Parameters&, int ranks);
  double (*messages)(int ranks);
  FlowGraph (*flows)(const SparseSizes&, int ranks);
};

struct CollectiveInfo {
  using Factory = std::function<std::unique_ptr<Collective>(
      const Parameters&, std::unique_ptr<Transport>, std::size_t capacity)>;
  std::string name;
  std::string summary;                         ///< one line
  std::string source;                          ///< paper and section, or another source
  std::vector<ParameterInfo> parameters = {};  ///< `hierarchical:group=4`
  // The collective's operations, and their closed forms.
  std::optional<ReduceForm> reduce = {};
  std::optional<GatherForm> gather = {};
  std::optional<SparseForm> sparse = {};
  /// Returns the options of a collective with servers, for a number of workers; null without
  /// servers.
  PushPullOptions (*push_pull)(const Parameters&, int workers) = nullptr;
  /// Makes the collective over a transport. If `make` is empty, the collective is made from its
  /// plans. Without plans, it is made by mpi_collectives.h or push_pull_collective.h.
  /// @param capacity  the longest message that all_gather may carry, in bytes
  Factory make = {};
  /// @throws InputError for a number of ranks that the collective does not support; null: any is
  /// supported
  void (*check_ranks)(const Parameters&, int ranks) = nullptr;
  /// Returns why the collective cannot exchange the compressor's payloads although it has the
  /// operation that they need; "" if it can. Null: the collective refuses no compressor.
  std::string (*refuses)(const Spec& collective, const Spec& compressor) = nullptr;
  /// Sums are quantised on their way, so that an exchange without a compressor is no baseline.
  bool lossy = false;

  bool can(Exchange exchange) const;
  std::vector<Exchange> exchanges() const;
  /// Returns whether make_collective() makes the collective.
  bool over_transport() const { return make || (reduce && reduce->plan != nullptr); }
};

/// `const CollectiveRegistration kTree{{.name = "tree", ...}};` at namespace scope registers a
/// collective.
class CollectiveRegistration {
 public:
  explicit CollectiveRegistration(CollectiveInfo info);
};

/// Returns the ring's all-reduce, by which collectives for sparse vectors sum dense arrays.
ReduceForm ring_reduce_form();

/// Returns all collectives: `ring`, then the others by name.
const std::vector<CollectiveInfo>& collectives();

/// Returns a collective. @throws InputError for an unknown name, with the nearest one
const CollectiveInfo& find_collective(const std::string& name);

/// Checks name, keys and values. @throws InputError naming the spec, the key and the allowed values
void check_collective(const Spec& spec);
/// Checks the number of ranks as well. @throws InputError
void check_collective(const Spec& spec, int ranks);

/// Returns the collective's parameters, with defaults filled in. @throws InputError as
/// check_collective
Parameters collective_parameters(const Spec& collective);

/// Returns the collectives of `ring|hierarchical:group=2|4`: `|` before a collective's name begins
/// another collective; any other `|` separates values of a parameter. Each collective is checked.
/// @throws InputError as check_collective
std::vector<Spec> expand_collectives(std::string_view text);

/// Returns the operation by which this collective combines the compressor's payloads. It is a
/// sparse all-reduce if the collective has one and the compressor selects a number of elements that
/// is known beforehand. Otherwise it is the operation of the compressor's aggregation.
/// @throws InputError naming the collectives with the operation where this one lacks it, or as
/// check_collective and check_spec
Exchange exchange_of(const Spec& collective, const Spec& compressor);

/// Returns how many parameter servers the collective needs; their ranks come after the workers'.
/// @throws InputError as check_collective
int servers_of(const Spec& collective);

/// Returns whether exchange_of() finds an operation.
bool serves(const Spec& collective, const Spec& compressor);

/// Makes a collective over a transport. @throws InputError as check_collective, and for a
/// collective that needs more than a Transport
std::unique_ptr<Collective> make_collective(const Spec& spec, std::unique_ptr<Transport> transport,
                                            std::size_t capacity);

}  // namespace thinpipe
