// The exchange patterns by name: what each can do, its parameters, how it is made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/registry.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// The operations of Pattern by which payloads of all ranks become one aggregate.
enum class Exchange { kAllReduce, kAllGather, kSparseAllReduce, kPushPull };

/// "allreduce", "allgather", "sparsereduce", "pushpull": as records name them.
const char* to_string(Exchange exchange);

struct PatternInfo {
  /// @param capacity  the longest message all_gather may carry, in bytes
  using Factory = std::function<std::unique_ptr<Pattern>(
      const Parameters&, std::unique_ptr<Transport>, std::size_t capacity)>;
  std::string name;
  std::string summary;                    ///< one line
  std::string source;                     ///< paper and section, or where it is known from
  std::vector<ParameterInfo> parameters;  ///< `hierarchical:group=4`
  std::vector<Exchange> exchanges;        ///< what it can do
  /// Empty: not made by a name alone (mpi_patterns.h, push_pull_pattern.h).
  Factory make;
  /// @throws InputError for a number of ranks that it cannot take; empty: it takes any.
  std::function<void(const Parameters&, int ranks)> check_ranks = {};
  /// Why it cannot exchange what this compressor sends although it has the operation; "" where it
  /// can. Empty where there is no such reason.
  std::function<std::string(const Spec& pattern, const Spec& compressor)> refuses = {};
  bool can(Exchange exchange) const;
};

/// All of them, `ring` first.
const std::vector<PatternInfo>& patterns();

/// @throws InputError for an unknown name, with the nearest one.
const PatternInfo& find_pattern(const std::string& name);

/// Checks name, keys and values. @throws InputError naming the spec, the key and what is allowed.
void check_pattern(const Spec& spec);
/// And that so many ranks can exchange by it. @throws InputError
void check_pattern(const Spec& spec, int ranks);

/// Its parameters, those that it leaves out too. @throws InputError as check_pattern.
Parameters pattern_parameters(const Spec& pattern);
/// Ranks of a group, of `hierarchical` and `qgz`. @throws InputError as check_pattern.
int pattern_group(const Spec& pattern);
/// Whether a ring sums its dense arrays: sparse patterns have one beside.
bool reduces_by_ring(const Spec& pattern);

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
