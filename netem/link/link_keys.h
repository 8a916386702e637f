// The keys of a link spec: name, help, parser and printer of each. Parsing, formatting and help all
// use these tables. Also converts a link to JSON.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// A key of one direction, also written `up.NAME` and `down.NAME`.
struct DirectionKey {
  const char* name;
  const char* value;  ///< placeholder in help, after the `=`
  const char* help;
  /// The value that switches the effect off, for impairments that apply only once on a path. The
  /// key of such an impairment applies to the downlink only, unless it has a prefix. Null for keys
  /// that apply to both directions.
  const char* never;
  /// Parses the value into the direction. @throws InputError saying what is wrong with the value.
  void (*read)(Direction&, const std::string&);
  /// Returns the canonical value, or "" where the direction has the default.
  std::string (*print)(const Direction&);
};

/// A key of the whole link.
struct LinkKey {
  const char* name;
  const char* value;
  const char* help;
  void (*read)(LinkSpec&, const std::string&);
  std::string (*print)(const LinkSpec&);
};

/// Returns a rate in bit/s as a link's text has it: `1.5mbit`. Parsing restores the rate exactly.
std::string link_rate_text(double rate);

std::span<const DirectionKey> direction_keys();
std::span<const LinkKey> link_keys();

/// Returns the JSON of a link, in records and where other programs read it: {"text", "rate",
/// "delay", "mtu", "place", "seed"?, "up": {"rate", ...}, "down": {"rate", ...}}. Rates are in
/// bit/s, sizes in bytes, times in seconds, and probabilities from 0 to 1. A `rate` is null without
/// a throttle. Impairments that are off are left out.
nlohmann::ordered_json link_json(const LinkSpec& link);

}  // namespace thinpipe
