#include "harness/records/launch_header.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "compressors/simd.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

nlohmann::json trace_description(const Trace& trace) {
  return {{"path", trace.folder().string()},
          {"model", trace.model()},
          {"identity", trace.identity()},
          {"elements", trace.elements()},
          {"tensors", trace.tensors().size()},
          {"ranks", trace.ranks()},
          {"steps", trace.steps()},
          {"dtype", gradient_type_name(trace.gradient_type())},
          {"complete", trace.complete()}};
}

}  // namespace

std::string created_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

nlohmann::json launch_header(const Launched& launched, const Trace* trace,
                             const NetworkState& network) {
  nlohmann::json json = {
      {"record", "header"},
      {"version", kRecordVersion},
      {"kind", launched.kind},
      {"created", created_now()},
      {"command", launched.command},
      {"seed", launched.seed},
      {"threads", launched.threads},
      {"simd", simd_target()},
      {"fingerprint", fingerprint(network)}};
  if (trace != nullptr) json["trace"] = trace_description(*trace);
  return json;
}

}  // namespace thinpipe
