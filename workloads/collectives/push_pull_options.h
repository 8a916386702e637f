// Units, which workers push to parameter servers and pull from them; and the options of the
// collectives `ps` and `twoshot`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/registry.h"

namespace thinpipe {

/// A unit is the input of one compressor: a tensor, or a bucket of several.
struct ExchangeUnit {
  std::string name;               ///< for messages: "fc1.weight"
  std::size_t elements = 0;       ///< floats before compression
  std::size_t push_capacity = 0;  ///< bytes of the longest payload that a worker may push
  std::size_t pull_capacity = 0;  ///< bytes of the longest payload that the server may answer
  int server = 0;                 ///< that averages it: 0 to servers - 1
};

/// How units are assigned to servers.
enum class Partition {
  kBalanced,    ///< by elements: the largest first, each to the server with the fewest so far
  kRoundRobin,  ///< unit i to server i mod S
};

/// Returns the server of each unit from the units' numbers of elements; the same on every rank.
/// Units are not cut, so the server with the largest unit may have more than 1/servers of all
/// elements.
std::vector<int> partition_units(std::span<const std::size_t> elements, int servers,
                                 Partition partition);

/// A worker's payload of one unit.
struct UnitPayload {
  std::size_t unit = 0;
  std::span<const std::byte> payload;
};

/// The ranks and units of a parameter-server exchange. Workers are ranks 0 to workers - 1 of the
/// transport. Servers are the ranks after the workers or, in the collective `twoshot`, the workers
/// themselves.
struct PushPullLayout {
  int workers = 0, servers = 0;
  bool colocated = false;  ///< server i is worker i; workers == servers
  std::vector<ExchangeUnit> units;

  int rank_of_server(int server) const { return colocated ? server : workers + server; }
  int ranks() const { return colocated ? workers : workers + servers; }
};

/// Size in bytes of the header before each payload. The header has the payload's unit and its
/// length in bytes, each as a little-endian u32 (docs/collectives.md, "Parameter server").
inline constexpr std::size_t kUnitHeadBytes = 2 * sizeof(std::uint32_t);

/// The tags of pushes to parameter servers and of their answers.
inline constexpr int kPushTag = 0, kPullTag = 1;

/// Options of `ps:servers=2,partition=balanced,pull=same,update=workers` or `twoshot:second=same`.
struct PushPullOptions {
  int servers = 1;  ///< of `twoshot`: as many as workers
  Partition partition = Partition::kBalanced;
  std::optional<Spec> pull;  ///< compressor of answers; nullopt: that of the push
  std::string pull_memory;   ///< replaces that compressor's `memory`; "" leaves it
  bool colocated = false;    ///< every worker is a server (PushPullLayout)
  /// If true, the servers have the model and the optimiser, and answer with changes of the model
  /// (3LC, figure 2b). If false, the servers answer with the mean gradient, and each worker has an
  /// optimiser.
  bool servers_update = false;

  /// Returns the compressor by which a server encodes its answer (the mean) to payloads of `push`.
  /// Servers answer in every exchange. @throws InputError where pull_memory is set and the
  /// compressor has no `memory`
  Spec pull_of(const Spec& push) const;
};

/// Returns whether a compressor clips gradients, by the norm of the whole tensor.
/// @throws InputError as check_spec
bool clips(const Spec& spec);

/// Returns the options of a collective with push and pull, for the given number of workers. @throws
/// InputError as check_collective
PushPullOptions push_pull_options(const Spec& collective, int workers);

}  // namespace thinpipe
