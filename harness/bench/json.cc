#include "harness/bench/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/bench/inputs.h"
#include "harness/bench/records.h"
#include "harness/doctor/machine.h"

namespace thinpipe {

std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device) {
  std::ostringstream stream;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&stream);
  reporter.SetErrorStream(&stream);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  if (!rows.empty()) reporter.ReportRuns(rows);
  reporter.Finalize();
  // Without rows the reporter leaves its list open.
  auto json = nlohmann::ordered_json::parse(rows.empty() ? stream.str() + "]}" : stream.str());
  auto& context = json["context"];
  context.erase("host_name");
  context["cpu"] = read_machine(".").cpu;
  context["last_level_cache_bytes"] = last_level_cache();
  context["thinpipe"] = THINPIPE_VERSION;
  context["residency"] = to_string(options.residency);
  context["input"] = options.trace.empty() ? options.distribution : options.trace.string();
  context["seed"] = options.seed;
  context["warmup_steps"] = options.warmup;
  context["random_interleaving"] = true;  // each row's `order` says where it stood
  context["repetitions"] = options.repetitions;
  context["min_time_seconds"] = options.min_time;
  if (device != nullptr) context["device"] = device_json(*device);
  return json.dump(2) + "\n";
}

}  // namespace thinpipe
