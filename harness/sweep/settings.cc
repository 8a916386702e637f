#include "harness/sweep/settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "compressors/simd.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// " --compute-scale 2", " without --target"
std::string as_typed(std::string name, const json& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (value.is_null()) return " without --" + name;
  return fmt::format(" --{} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

json settings_of(const SweepOptions& options) {
  json settings = {{"steps", options.steps},
                   {"warmup", options.warmup},
                   {"compute_scale", options.compute_scale},
                   {"non_finite", options.zero_non_finite ? "zero" : "error"}};
  if (options.hosts) {
    settings["hosts"] = fmt::format("{}", fmt::join(options.hosts->names, ","));
    settings["mpi_iface"] = options.hosts->mpi_interface;
  }
  return settings;
}

void check_same_settings(const Records& existing, const SweepOptions& options,
                         const json& settings) {
  json now = settings;
  now.update({{"seed", options.seed}, {"threads", options.threads}, {"simd", simd_target()}});
  for (const Header& header : existing.headers) {
    json before = header.settings;
    before.update({{"seed", header.seed}, {"threads", header.threads}});
    if (!header.simd.empty()) before["simd"] = header.simd;
    std::string found, expected;
    for (const auto& [name, value] : before.items()) {
      if (!now.contains(name) || now.at(name) == value) continue;
      // A run that ended well with `error` had nothing to replace.
      if (name == "non_finite" && value == "error") continue;
      found += as_typed(name, value);
      expected += as_typed(name, now.at(name));
    }
    if (!found.empty())
      throw InputError(
          fmt::format("{}: the records there were measured with{}, not with{}; give another --out, "
                      "or the options that they were measured with",
                      existing.file.string(), found, expected));
  }
}

}  // namespace thinpipe
