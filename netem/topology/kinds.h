// The table of named topologies. Parsing, help and planning all use it.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/spec.h"

namespace thinpipe {

struct TopologySetting {
  const char* name;
  const char* default_value;  ///< "" without a default
  const char* help;
};

struct TopologyKind {
  const char* name;
  const char* help;
  std::vector<TopologySetting> values;
  std::vector<TopologySetting> links;
  /// Throws InputError for invalid settings.
  void (*check)(const TopologySpec&);
  /// Adds switches, trunks and hosts to the plan. Exceptions are applied afterwards.
  void (*lay_out)(const TopologySpec&, int hosts, const LinkSpec& link, Topology& plan);
};

const std::vector<TopologyKind>& topology_kinds();

/// Returns the topology of this name, null if unknown.
const TopologyKind* find_topology_kind(std::string_view name);

}  // namespace thinpipe
