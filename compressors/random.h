// Random numbers that every worker and every machine draws alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/splitmix64.h"

namespace thinpipe {

/// FNV-1a: a number for a tensor's name that does not depend on the library.
inline std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char letter : name) hash = (hash ^ letter) * 0x100000001b3;
  return hash;
}

}  // namespace thinpipe
