#include "harness/sweep/header.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compressors/simd.h"
#include "harness/sweep/fingerprint.h"
#include "reports/record/record.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// What the machines are, and what each rank told of its own.
json machines_of(const Machines& machines, const Launch* launch) {
  json text = machines.description();
  if (launch != nullptr && !launch->rank_machines().empty())
    text["ranks"] = launch->rank_machines();
  return text;
}

}  // namespace

json header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
               const Launch* launch, const Calibrator& calibrator) {
  return {{"record", "header"},
          {"version", kRecordVersion},
          {"kind", "run"},
          {"created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"command", options.command},
          {"seed", options.seed},
          {"threads", options.threads},
          {"simd", simd_target()},
          {"trace",
           {{"path", options.trace.string()},
            {"model", trace.model()},
            {"identity", trace.identity()},
            {"elements", trace.elements()},
            {"tensors", trace.tensors().size()},
            {"ranks", trace.ranks()},
            {"steps", trace.steps()},
            {"dtype", gradient_type_name(trace.gradient_type())},
            {"complete", trace.complete()}}},
          {"machines", machines_of(machines, launch)},
          {"fingerprint",
           fingerprint(machines.sysctls(), launch != nullptr ? launch->mpi_version() : "",
                       launch != nullptr ? launch->congestion_control() : "")},
          {"calibration", calibrator.record()}};
}

}  // namespace thinpipe
