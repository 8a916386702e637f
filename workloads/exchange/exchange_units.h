// Units that workers push to parameter servers and pull from them, and the server of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// Input of one compressor: a tensor, or a bucket of several.
struct ExchangeUnit {
  std::string name;               ///< for messages: "fc1.weight"
  std::size_t elements = 0;       ///< floats before compression
  std::size_t push_capacity = 0;  ///< bytes of the longest payload that a worker may push
  std::size_t pull_capacity = 0;  ///< bytes of the longest payload that the server may answer
  int server = 0;                 ///< who has it: 0 to servers - 1
};

/// How units are dealt to servers.
enum class Partition {
  kBalanced,    ///< by elements: the largest first, each to the server that has least so far
  kRoundRobin,  ///< unit i to server i mod S
};

/// The server of each unit, by the numbers of their elements; the same on every rank. Units stay
/// whole: a server that has the largest one may have more than its share.
std::vector<int> partition_units(std::span<const std::size_t> elements, int servers,
                                 Partition partition);

/// A worker's payload of one unit.
struct UnitPayload {
  std::size_t unit = 0;
  std::span<const std::byte> payload;
};

/// Workers are ranks 0 to workers - 1 of the transport, servers the ranks after them; or every
/// worker is a server too (the pattern `twoshot`).
struct PushPullLayout {
  int workers = 0, servers = 0;
  bool colocated = false;  ///< server i is worker i: of both there are as many
  std::vector<ExchangeUnit> units;

  int rank_of_server(int server) const { return colocated ? server : workers + server; }
  int ranks() const { return colocated ? workers : workers + servers; }
};

/// docs/patterns.md, "Parameter server": before a payload go its unit and its length in bytes, each
/// a little-endian u32.
inline constexpr std::size_t kUnitHeadBytes = 2 * sizeof(std::uint32_t);

/// The tags of what goes to parameter servers and what comes back.
inline constexpr int kPushTag = 0, kPullTag = 1;

}  // namespace thinpipe
