#include "workloads/trace/trace_format.h"

#include <algorithm>

#include <fmt/format.h>

namespace thinpipe {

bool is_known_origin(const std::string& origin) {
  return origin == kOriginTraining || origin == kOriginSynthetic || origin == kOriginImported;
}

void check_trace_preamble(const JsonField& root) {
  if (root.at("format").string() != kTraceFormat) {
    root.at("format").fail(fmt::format("expected \"{}\", found {}", kTraceFormat,
                                       describe_json(root.at("format").value())));
  }
  const std::uint64_t version = root.at("version").unsigned_integer(1);
  if (version != kTraceVersion) {
    root.at("version").fail(fmt::format("found {}, expected {}; a newer thinpipe wrote this trace",
                                        version, kTraceVersion));
  }
  if (!is_known_origin(root.at("origin").string())) {
    root.at("origin").fail(fmt::format("expected \"{}\", \"{}\" or \"{}\", found {}",
                                       kOriginTraining, kOriginSynthetic, kOriginImported,
                                       describe_json(root.at("origin").value())));
  }
}

void check_tensor_name(const std::string& name, const JsonField& field) {
  constexpr std::size_t kLongest = 512;
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (name.empty() || name.size() > kLongest || control || name == "__metadata__" ||
      name.starts_with(kSquaresPrefix)) {
    field.fail(
        fmt::format("expected a tensor's name (1 to {} printable bytes, not beginning with "
                    "\"{}\"), found {}",
                    kLongest, kSquaresPrefix, describe_json(field.value())));
  }
}

}  // namespace thinpipe
