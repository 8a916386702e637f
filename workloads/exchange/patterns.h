// The exchange patterns by name: what each can do, its parameters, how it is made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/registry.h"
#include "workloads/exchange/flow_graph.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/plans.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// The operations of Pattern by which payloads of all ranks become one aggregate.
enum class Exchange { kAllReduce, kAllGather, kSparseAllReduce, kPushPull };

/// "allreduce", "allgather", "sparsereduce", "pushpull": as records name them.
const char* to_string(Exchange exchange);

/// An all-reduce of a pattern. Functions are given the pattern's parameters; null where what it
/// sends is not known.
struct ReduceForm {
  /// Null where it is no plan.
  AllReducePlan (*plan)(const Parameters&, int ranks, int rank) = nullptr;
  /// A rank's messages and bytes, both ways.
  Traffic (*traffic)(const Parameters&, const SummedArray&, int ranks, int rank) = nullptr;
  /// Messages that follow each other on the longest way, where each is one segment.
  int (*steps)(const Parameters&, int ranks) = nullptr;
  /// Messages of all ranks where no part is longer than a segment: there are so many at least.
  double (*messages)(const Parameters&, int ranks) = nullptr;
  /// Its messages of so many floats; null where they follow from its plan.
  FlowGraph (*flows)(const Parameters&, std::size_t elements, int ranks) = nullptr;
};

/// Likewise an all-gather, of more than one rank.
struct GatherForm {
  AllGatherPlan (*plan)(const Parameters&, int ranks, int rank) = nullptr;
  Traffic (*traffic)(const Parameters&, const MessageVolume&, int rank) = nullptr;
  int (*steps)(const Parameters&, int ranks) = nullptr;
};

/// Likewise a sparse all-reduce with re-selection.
struct SparseForm {
  SparseTraffic (*traffic)(const Parameters&, const SparseSizes&, int ranks, int rank);
  int (*steps)(const Parameters&, int ranks);
  double (*messages)(int ranks);
  FlowGraph (*flows)(const SparseSizes&, int ranks);
};

struct PatternInfo {
  using Factory = std::function<std::unique_ptr<Pattern>(
      const Parameters&, std::unique_ptr<Transport>, std::size_t capacity)>;
  std::string name;
  std::string summary;                         ///< one line
  std::string source;                          ///< paper and section, or where it is known from
  std::vector<ParameterInfo> parameters = {};  ///< `hierarchical:group=4`
  // Its operations, and their closed forms.
  std::optional<ReduceForm> reduce = {};
  std::optional<GatherForm> gather = {};
  std::optional<SparseForm> sparse = {};
  /// Payloads go to servers: how, of so many workers.
  PushPullOptions (*push_pull)(const Parameters&, int workers) = nullptr;
  /// Over a transport; @param capacity  the longest message all_gather may carry, in bytes. Empty:
  /// made from its plans, or, without any, not by a name alone (mpi_patterns.h,
  /// push_pull_pattern.h).
  Factory make = {};
  /// @throws InputError for a number of ranks that it cannot take; null: it takes any.
  void (*check_ranks)(const Parameters&, int ranks) = nullptr;
  /// Why it cannot exchange what this compressor sends although it has the operation; "" where it
  /// can. Null where there is no such reason.
  std::string (*refuses)(const Spec& pattern, const Spec& compressor) = nullptr;

  bool can(Exchange exchange) const;
  std::vector<Exchange> exchanges() const;
  /// Whether make_pattern() makes it.
  bool over_transport() const { return make || (reduce && reduce->plan != nullptr); }
};

/// `const PatternRegistration kTree{{.name = "tree", ...}};` at namespace scope registers a
/// pattern.
class PatternRegistration {
 public:
  explicit PatternRegistration(PatternInfo info);
};

/// The ring's: patterns for sparse vectors sum dense arrays by it.
ReduceForm ring_reduce_form();

/// All of them, `ring` first, the others by name.
const std::vector<PatternInfo>& patterns();

/// @throws InputError for an unknown name, with the nearest one.
const PatternInfo& find_pattern(const std::string& name);

/// Checks name, keys and values. @throws InputError naming the spec, the key and what is allowed.
void check_pattern(const Spec& spec);
/// And that so many ranks can exchange by it. @throws InputError
void check_pattern(const Spec& spec, int ranks);

/// Its parameters, those that it leaves out too. @throws InputError as check_pattern.
Parameters pattern_parameters(const Spec& pattern);

/// The patterns of `ring|hierarchical:group=2|4`: `|` before a pattern's name begins another
/// pattern, else it stands between values of a parameter. Each is checked.
/// @throws InputError as check_pattern.
std::vector<Spec> expand_patterns(std::string_view text);

/// The operation by which the compressor's payloads meet in this pattern: a sparse all-reduce where
/// the pattern has one, for compressors that select a known number of elements; else as the
/// compressor is aggregated.
/// @throws InputError naming the patterns that can do it where this one cannot, or as
/// check_pattern and check_spec.
Exchange exchange_of(const Spec& pattern, const Spec& compressor);

/// Ranks beside the workers, after them, that the pattern needs: parameter servers.
/// @throws InputError as check_pattern.
int servers_of(const Spec& pattern);

/// Whether exchange_of() finds one.
bool serves(const Spec& pattern, const Spec& compressor);

/// A pattern over a transport. @throws InputError as check_pattern, and for one that is not over
/// a Transport.
std::unique_ptr<Pattern> make_pattern(const Spec& spec, std::unique_ptr<Transport> transport,
                                      std::size_t capacity);

/// @throws InputError: a pattern cannot do it, and these can.
[[noreturn]] void refuse_exchange(Exchange exchange);

}  // namespace thinpipe
