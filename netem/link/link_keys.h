// The keys of a link's text: what each is called, means, reads and prints. Parsing, formatting and
// help all come from here. And a link as JSON.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// A key of one direction, also written `up.NAME` and `down.NAME`.
struct DirectionKey {
  const char* name;
  const char* value;  ///< of its help: what goes behind the `=`
  const char* help;
  /// The value that says never, for effects that happen once on the path; such a key without a
  /// prefix is the downlink's alone. Null for keys that hold in both directions.
  const char* never;
  /// Reads the value into the direction. @throws InputError saying what is wrong with it.
  void (*read)(Direction&, const std::string&);
  /// The canonical value, or "" where the direction has the default.
  std::string (*print)(const Direction&);
};

/// A key of the link as a whole.
struct LinkKey {
  const char* name;
  const char* value;
  const char* help;
  void (*read)(LinkSpec&, const std::string&);
  std::string (*print)(const LinkSpec&);
};

std::span<const DirectionKey> direction_keys();
std::span<const LinkKey> link_keys();

/// A link for records and programs: rates in bit/s, sizes in bytes, times in seconds, shares in
/// 0..1. {"text", "rate", "delay", "mtu", "place", "seed"?, "up": {...}, "down": {...}}; of a
/// direction without a rate, `rate` is null; impairments that never happen are left out.
nlohmann::ordered_json link_json(const LinkSpec& link);

}  // namespace thinpipe
