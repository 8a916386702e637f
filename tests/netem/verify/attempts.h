// Tests in which wall-clock time decides: a busy machine may spoil an attempt, what is wrong spoils
// all of them. Expectations inside a sandbox are in another process: they are thrown, and the exit
// code tells.
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/network.h"
#include "netem/sandbox.h"

namespace thinpipe {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw RunError(what);
}

/// 0 when `body` passes with a fresh network of two hosts, in one of a few attempts.
inline int attempts_with_two_hosts(const std::function<void(Network&)>& body) {
  constexpr int kAttempts = 4;
  return run_in_sandbox([&](const Sandbox&) {
    for (int attempt = 1;; ++attempt) try {
        Network network(2);
        body(network);
        return static_cast<int>(kExitGood);
      } catch (const RunError& error) {
        if (attempt == kAttempts) throw;
        fmt::print("attempt {}: {}\n", attempt, error.what());
      }
  });
}

}  // namespace thinpipe
