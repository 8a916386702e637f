#include "reports/export/export.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

Json context_of(const Json& header) {
  const Json& machine = header.at("fingerprint");
  return {{"date", header.at("created")},
          {"executable", "thinpipe"},
          {"num_cpus", machine.value("cores", Json(1))},
          {"mhz_per_cpu", 0},
          {"cpu_scaling_enabled", machine.value("governor", Json()) != "performance"},
          {"load_avg", Json::array({machine.value("load", Json(0))})},
          {"library_build_type", "release"},
          {"cpu", machine.value("cpu", Json(""))},
          {"thinpipe", machine.value("thinpipe", Json(""))},
          {"git", machine.value("git", Json(""))}};
}

// Not rows with `error_occurred`: compare.py asks every row for its times.
Json left_out(const std::vector<LaunchRecords>& launches) {
  Json names = Json::array();
  for (const LaunchRecords& launch : launches) {
    for (const Json& point : launch.points) {
      const std::string status = point.at("status");
      if (status != "ok") names.push_back(point.at("id").get<std::string>() + ": " + status);
    }
  }
  return names;
}

void add_rows(const Json& point, Json& rows) {
  if (point.at("status") != "ok") return;
  Json counters = Json::object();
  const Json metrics = point.value("metrics", Json::object());
  for (const auto& [name, metric] : metrics.items()) {
    const Json& samples = metric.at("samples");
    if (metric.at("unit") != "s" && samples.size() == 1 && samples[0].is_number())
      counters[name] = samples[0];
  }
  for (const auto& [name, metric] : metrics.items()) {
    if (metric.at("unit") != "s") continue;
    const Json& samples = metric.at("samples");
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!samples[i].is_number()) continue;
      constexpr double kNanoseconds = 1e9;
      const double time = samples[i].get<double>() * kNanoseconds;
      const std::string full = name + "/" + point.at("id").get<std::string>();
      Json row = {{"name", full},
                  {"run_name", full},
                  {"run_type", "iteration"},
                  {"repetitions", samples.size()},
                  {"repetition_index", i},
                  {"threads", point.at("axes").value("threads", 1)},
                  {"iterations", 1},
                  {"real_time", time},
                  {"cpu_time", time},
                  {"time_unit", "ns"}};
      row.update(counters);
      rows.push_back(std::move(row));
    }
  }
}

}  // namespace

std::string export_google_benchmark(const std::vector<LaunchRecords>& launches) {
  Json rows = Json::array();
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points) add_rows(point, rows);
  Json context = launches.empty() ? Json::object() : context_of(launches[0].header);
  context["left_out"] = left_out(launches);
  return Json{{"context", context}, {"benchmarks", rows}}.dump(2) + "\n";
}

}  // namespace thinpipe
