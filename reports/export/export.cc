// Records as comma-separated values, as Google Benchmark's JSON, in Bencher's metric format and as
// Chrome's trace events.
#include "reports/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "reports/record/reader.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  return escape_csv(value.is_string() ? value.get<std::string>() : value.dump());
}

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

// Returns the names of the points that the Google Benchmark export leaves out because they are not
// `ok`. Such points get no rows with `error_occurred`: Google Benchmark's compare.py reads times
// from every row and would fail.
Json left_out(const std::vector<LaunchRecords>& launches) {
  Json names = Json::array();
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points) {
      const std::string status = point.at("status");
      if (status != "ok") names.push_back(point.at("id").get<std::string>() + ": " + status);
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

// Returns the median over all launches with its interval. A single launch needs no resampling.
Estimate median_estimate(const Repeats& repeats) {
  return repeats.size() == 1 ? median_of(repeats, {median(repeats[0]), {}})
                             : median_of(repeats, bootstrap_median(repeats, 0));
}

// The Perfetto UI drops a slice that partly overlaps another slice of the same thread. Phases that
// partly overlap are therefore put on different threads. Times are whole nanoseconds, as in
// Perfetto's parser, so that rounding does not make adjacent phases overlap.
using Nanoseconds = std::int64_t;

constexpr Nanoseconds kBetweenPoints = 1'000'000;
/// Concurrent work of a rank; further threads of a kind follow its first one.
constexpr std::array<const char*, 3> kKinds = {"computes", "codec", "exchanges"};
constexpr int kThreadsPerProcess = 1000;  // of a rank; makes thread numbers of ranks distinct

struct Span {
  std::string phase;
  Json bucket;
  Nanoseconds begin = 0, end = 0;
  std::size_t kind() const { return phase == "compute" ? 0 : phase == "exchange" ? 2 : 1; }
};

Nanoseconds nanoseconds(const Json& seconds) { return std::llround(1e9 * seconds.get<double>()); }

double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1000; }

/// The spans of one thread: each lies inside another one or apart from it.
class Lane {
 public:
  bool takes(const Span& span) {
    while (!open_.empty() && open_.back() <= span.begin) open_.pop_back();
    if (!open_.empty() && open_.back() < span.end) return false;
    open_.push_back(span.end);
    return true;
  }

 private:
  std::vector<Nanoseconds> open_;  // ends of the spans around the latest one
};

/// The events of one rank of one point, which is a process.
class RankEvents {
 public:
  RankEvents(int process, Json& events) : process_(process), events_(events) {}

  void name(const std::string& text) {
    add_name("process", process_ * kThreadsPerProcess + 1, text, process_);
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) thread_of(kind, 0);
  }

  void add(std::vector<Span> spans) {
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    for (const Span& span : spans) add(span);
  }

  /// Adds arrows along each bucket: from compression over exchange to decoding.
  void add_flows(int& flow) {
    for (const auto& [bucket, places] : of_bucket_) {
      if (places.size() < 2) continue;
      ++flow;
      for (std::size_t i = 0; i < places.size(); ++i) {
        Json event = {{"ph", i == 0                  ? "s"
                             : i + 1 < places.size() ? "t"
                                                     : "f"},
                      {"name", "bucket " + bucket},
                      {"cat", "bucket"},
                      {"id", flow},
                      {"pid", process_},
                      {"tid", places[i].second},
                      {"ts", microseconds(places[i].first)}};
        if (i > 0) event["bp"] = "e";  // belongs to the enclosing slice
        events_.push_back(std::move(event));
      }
    }
  }

 private:
  void add(const Span& span) {
    std::vector<Lane>& lanes = lanes_[span.kind()];
    std::size_t lane = 0;
    while (lane < lanes.size() && !lanes[lane].takes(span)) ++lane;
    if (lane == lanes.size()) {
      lanes.emplace_back();
      lanes.back().takes(span);
    }
    const int thread = thread_of(span.kind(), lane);
    events_.push_back({{"ph", "X"},
                       {"name", span.phase},
                       {"cat", "step"},
                       {"pid", process_},
                       {"tid", thread},
                       {"ts", microseconds(span.begin)},
                       {"dur", microseconds(span.end - span.begin)},
                       {"args", {{"bucket", span.bucket}}}});
    if (span.kind() != 0) of_bucket_[span.bucket.dump()].emplace_back(span.begin, thread);
  }

  // Returns a thread number that no other thread of any process has. It also differs from the
  // number of its process, because the viewer takes a thread with the process's number as the main
  // thread.
  int thread_of(std::size_t kind, std::size_t lane) {
    const auto [found, is_new] =
        threads_.try_emplace({kind, lane}, static_cast<int>(threads_.size()) + 1);
    const int thread = process_ * kThreadsPerProcess + found->second;
    if (is_new) {
      const std::string number = lane == 0 ? "" : " " + std::to_string(lane + 1);
      add_name("thread", thread, kKinds[kind] + number,
               static_cast<int>(kind) * kThreadsPerProcess + static_cast<int>(lane));
    }
    return thread;
  }

  void add_name(const std::string& what, int thread, const std::string& text, int place) {
    for (const auto& [name, value] :
         {std::pair<std::string, Json>{"name", text}, {"sort_index", place}})
      events_.push_back({{"ph", "M"},
                         {"name", what + "_" + name},
                         {"pid", process_},
                         {"tid", thread},
                         {"args", {{name, value}}}});
  }

  int process_;
  Json& events_;
  std::array<std::vector<Lane>, kKinds.size()> lanes_;
  std::map<std::pair<std::size_t, std::size_t>, int> threads_;
  std::map<std::string, std::vector<std::pair<Nanoseconds, int>>> of_bucket_;  // begins, threads
};

// Adds the point's events and returns the end of its last phase.
Nanoseconds add_trace(const Json& point, Nanoseconds begin, int& process, int& flow, Json& events) {
  Nanoseconds end = begin;
  const Json& ranks = point.at("timeline").at("ranks");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankEvents of_rank(++process, events);
    of_rank.name("rank " + std::to_string(rank) + ", " + point.at("id").get<std::string>());
    std::vector<Span> spans;
    for (const Json& span : ranks[rank]) {
      spans.push_back({span.at(0), span.at(1), begin + nanoseconds(span.at(2)),
                       begin + nanoseconds(span.at(3))});
      end = std::max(end, spans.back().end);
    }
    of_rank.add(std::move(spans));
    of_rank.add_flows(flow);
  }
  return end;
}

}  // namespace

std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file) {
  std::filesystem::path file = folder_or_file;
  std::vector<LaunchRecords> launches;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const Json& record) {
    if (record.at("record") == "header") {
      launches.push_back({record, {}});
      places.clear();
      return;
    }
    std::vector<Json>& points = launches.back().points;
    const auto [place, is_new] = places.try_emplace(record.at("id"), points.size());
    if (is_new)
      points.push_back(record);
    else
      points[place->second] = record;
  };
  InputLines lines = open_record_lines(file);
  walk_records(std::move(lines), file, {.json = add});
  return launches;
}

std::string export_csv(const std::vector<LaunchRecords>& launches) {
  std::set<std::string> axes;
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points)
      for (const auto& [name, value] : point.at("axes").items()) axes.insert(name);
  std::string text = "launch,id,status";
  for (const std::string& name : axes) text += "," + escape_csv(name);
  text += ",metric,unit,better,kind,sample,value\r\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    for (const Json& point : launches[i].points) {
      std::string before =
          fmt::format("{},{},{}", i, cell_of(point.at("id")), cell_of(point.at("status")));
      for (const std::string& name : axes)
        before += "," + cell_of(point.at("axes").value(name, Json(nullptr)));
      const Json metrics = point.value("metrics", Json::object());
      for (const auto& [name, metric] : metrics.items()) {
        const std::string of_metric =
            fmt::format("{},{},{},{},{}", before, escape_csv(name), cell_of(metric.at("unit")),
                        cell_of(metric.at("better")), cell_of(metric.at("kind")));
        int number = 0;
        for (const Json& sample : metric.at("samples"))
          text += fmt::format("{},{},{}\r\n", of_metric, number++, cell_of(sample));
      }
    }
  }
  return text;
}

std::string export_google_benchmark(const std::vector<LaunchRecords>& launches) {
  Json rows = Json::array();
  for (const LaunchRecords& launch : launches)
    for (const Json& point : launch.points) add_rows(point, rows);
  Json context = launches.empty() ? Json::object() : context_of(launches[0].header);
  context["left_out"] = left_out(launches);
  return Json{{"context", context}, {"benchmarks", rows}}.dump(2) + "\n";
}

std::string export_bmf(const std::vector<LaunchRecords>& launches) {
  std::map<std::string, std::map<std::string, Repeats>> all;  // point, metric, samples by launch
  for (const LaunchRecords& launch : launches) {
    for (const Json& point : launch.points) {
      if (point.at("status") != "ok") continue;
      for (const auto& [name, metric] : point.at("metrics").items()) {
        std::vector<double> samples;
        for (const Json& sample : metric.at("samples"))
          if (sample.is_number()) samples.push_back(sample.get<double>());
        if (!samples.empty()) all[point.at("id")][name].push_back(std::move(samples));
      }
    }
  }
  Json json = Json::object();
  for (const auto& [id, metrics] : all) {
    for (const auto& [name, repeats] : metrics) {
      const Estimate estimate = median_estimate(repeats);
      Json& measure = json[id][name];
      measure["value"] = estimate.value;
      if (estimate.interval) {
        measure["lower_value"] = estimate.interval->low;
        measure["upper_value"] = estimate.interval->high;
      }
    }
  }
  return json.dump(2) + "\n";
}

std::string export_perfetto(const std::vector<LaunchRecords>& launches) {
  Json events = Json::array();
  Nanoseconds begin = 0;
  int process = 0, flow = 0;
  for (const LaunchRecords& launch : launches) {
    for (const Json& point : launch.points) {
      if (!point.contains("timeline")) continue;
      begin = add_trace(point, begin, process, flow, events) + kBetweenPoints;
    }
  }
  if (events.empty())
    throw InputError("no point of these records has a timeline; `thinpipe run` records them");
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace thinpipe
