// Helpers of netem's tests: bytes as expected layouts show them, mismatches as text, planned
// topologies, and expectations inside a sandbox.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/qdisc.h"
#include "netem/sandbox.h"
#include "netem/topology/spec.h"
#include "tests/base/support.h"

namespace thinpipe {

/// Bytes as hexadecimal digits in words of four.
inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i > 0 && i % 4 == 0 ? " " : "", static_cast<int>(bytes[i]));
  return text;
}

inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char digit : text)
    if (digit != ' ') digits += digit;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Settings of a qdisc that the kernel did not take as requested, a line each.
inline std::string settings_of(const std::vector<Mismatch>& mismatches) {
  std::string text;
  for (const Mismatch& mismatch : mismatches)
    text += fmt::format("{}: {} {}\n", mismatch.setting, mismatch.asked, mismatch.got);
  return text;
}

/// Expectations inside a sandbox are in another process: they are thrown, and set the exit code.
inline void require(bool condition, const std::string& what) {
  if (!condition) throw RunError("not so: " + what);
}

inline void require_has(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "'" + part + "' is in: " + text);
}

inline std::string run_error(const std::function<void()>& action) {
  return error_text<RunError>(action);
}

/// Runs `body` in a sandbox, which must end with this exit code: not 0 if `body` must throw.
inline void expect_in_sandbox(const std::function<void()>& body, int code = kExitGood) {
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
              body();
              return 0;
            }),
            code);
}

inline Topology planned(const std::string& text, int hosts,
                        const std::string& link = "rate=100mbit") {
  return parse_topology(text).plan(hosts, parse_link_spec(link));
}

}  // namespace thinpipe
