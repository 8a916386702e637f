// The topologies that have a name. Parsing, help and planning all come from this table.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/spec.h"

namespace thinpipe {

struct TopologySetting {
  const char* name;
  const char* default_value;  ///< "" where there is none
  const char* help;
};

struct TopologyKind {
  const char* name;
  const char* help;
  std::vector<TopologySetting> values;
  std::vector<TopologySetting> links;
  /// Throws InputError unless the values given are possible.
  void (*check)(const TopologySpec&);
  /// Switches, trunks and hosts of the plan; exceptions come afterwards.
  void (*lay_out)(const TopologySpec&, int hosts, const LinkSpec& link, Topology& plan);
};

const std::vector<TopologyKind>& topology_kinds();

/// Null for an unknown name.
const TopologyKind* find_topology_kind(std::string_view name);

}  // namespace thinpipe
