// Settings of a qdisc that the kernel did not take as asked, a line each.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "netem/qdisc.h"

namespace thinpipe {

inline std::string settings_of(const std::vector<Mismatch>& mismatches) {
  std::string text;
  for (const Mismatch& mismatch : mismatches)
    text += fmt::format("{}: {} {}\n", mismatch.setting, mismatch.asked, mismatch.got);
  return text;
}

}  // namespace thinpipe
