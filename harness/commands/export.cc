// `thinpipe export`: records in other formats. `thinpipe merge`: records of several runs as one.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/export/export.h"
#include "reports/record/record.h"
#include "reports/record/writer.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

std::string exported(const std::vector<LaunchRecords>& launches, const std::string& format) {
  if (format == "csv") return export_csv(launches);
  if (format == "google-benchmark") return export_google_benchmark(launches);
  if (format == "bmf") return export_bmf(launches);
  return export_perfetto(launches);
}

// Reports the points that a format without a field for the status leaves out.
void report_left_out(const std::vector<LaunchRecords>& launches) {
  std::size_t all = 0, untrusted = 0;
  for (const LaunchRecords& launch : launches) {
    all += launch.points.size();
    untrusted += static_cast<std::size_t>(
        std::count_if(launch.points.begin(), launch.points.end(),
                      [](const nlohmann::json& point) { return point.at("status") != "ok"; }));
  }
  if (untrusted > 0)
    std::fprintf(stderr, "thinpipe export: left out %zu of %zu points (status not `ok`)\n",
                 untrusted, all);
}

constexpr const char* kFormats[] = {"csv", "google-benchmark", "bmf", "perfetto"};

std::string export_format(const Arguments& arguments) {
  std::vector<std::string> asked;
  if (arguments.given("format")) asked.push_back(arguments.text("format"));
  for (const char* format : kFormats)
    if (arguments.flag(format)) asked.emplace_back(format);
  if (asked.size() > 1)
    throw InputError("expected one format, found " + asked[0] + " and " + asked[1]);
  return asked.empty() ? arguments.text("format") : asked.front();
}

int export_records(const Arguments& arguments, const std::string& format) {
  const std::vector<LaunchRecords> launches = read_launches(arguments.positional("DIR"));
  const std::string text = exported(launches, format);
  if (format == "bmf" || format == "google-benchmark") report_left_out(launches);
  write_data_to(arguments.text("output"), text);
  return kExitGood;
}

// Checks that all launches have the same settings. Time of day and load of the machine may differ.
void require_alike(const std::vector<std::pair<std::string, LaunchRecords>>& launches) {
  const auto& [first_name, first] = launches.front();
  for (const auto& [name, launch] : launches) {
    if (launch.header.at("kind") != first.header.at("kind"))
      throw InputError(name + " has records of '" + launch.header.at("kind").get<std::string>() +
                       "', but " + first_name + " has records of '" +
                       first.header.at("kind").get<std::string>() + "'");
    std::vector<std::string> differences =
        setting_differences(first.header.at("fingerprint"), launch.header.at("fingerprint"));
    for (const char* key : {"seed", "threads", "simd", "settings"})
      add_difference(key, first.header.value(key, nlohmann::json()),
                     launch.header.value(key, nlohmann::json()), differences);
    const auto identity = [](const LaunchRecords& of) {
      return text_in(of.header.value("trace", nlohmann::json::object()), "identity");
    };
    add_difference("trace", identity(first), identity(launch), differences);
    if (!differences.empty())
      throw InputError(name + " and " + first_name +
                       " have different settings and cannot be merged: " + differences.front());
  }
}

int merge_records(const Arguments& arguments) {
  std::vector<std::pair<std::string, LaunchRecords>> launches;
  for (const std::string& folder : arguments.positionals("DIR"))
    for (LaunchRecords& launch : read_launches(folder))
      launches.emplace_back(folder, std::move(launch));
  if (launches.empty()) throw InputError("these folders have no records");
  require_alike(launches);
  RecordWriter writer(arguments.text("out"), RecordWriter::Mode::kCreate);
  for (const auto& [name, launch] : launches) {
    writer.append(launch.header);
    for (const nlohmann::json& point : launch.points) writer.append(point);
  }
  write_stdout(writer.file().string() + "\n");
  return kExitGood;
}

Action prepare_export(const Arguments& arguments) {
  return
      [&arguments, format = export_format(arguments)] { return export_records(arguments, format); };
}

Action prepare_merge(const Arguments& arguments) {
  return [&] { return merge_records(arguments); };
}

}  // namespace

Verb export_verb() {
  return {.name = "export",
          .summary = "Write records in the formats of other programs",
          .description =
              "csv has one row per sample, with every axis as a column. google-benchmark is the "
              "format of Google Benchmark's compare.py. bmf is Bencher's metric format. perfetto "
              "has the recorded step of every rank of a run, for ui.perfetto.dev and "
              "chrome://tracing.",
          .options = {choice_option("format,f", "FORMAT", "csv",
                                    {std::begin(kFormats), std::end(kFormats)}, "output format"),
                      {.name = "csv", .help = "the same as --format csv"},
                      {.name = "google-benchmark", .help = "the same as --format google-benchmark"},
                      {.name = "bmf", .help = "the same as --format bmf"},
                      {.name = "perfetto", .help = "the same as --format perfetto"},
                      file_option("output,o", "FILE", "-", "output file; - is standard output")},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "folder with records.jsonl, or that file"}},
          .examples = {{"For a spreadsheet, pandas or R", "thinpipe export out -o out.csv"},
                       {"Timeline of every rank for the Perfetto UI",
                        "thinpipe export out -f perfetto -o step.json"}},
          .prepare = prepare_export};
}

Verb merge_verb() {
  return {.name = "merge",
          .summary = "Merge the records of several runs into one folder",
          .description =
              "Writes the launches of all folders to one file: the parts of a sweep (`thinpipe run "
              "--shard`), or launches of `bench` or `quality` for `thinpipe gate`. Refuses records "
              "of different commands, machines, builds, traces, seeds, threads or instruction "
              "sets, and runs or trainings with different options. Options of `bench` and "
              "`quality` that are not part of a point's name are not compared. If a point occurs "
              "twice, reports show the later one, and `gate` and `history` take both as "
              "launches.",
          .options = {required(
              folder_option("out", "DIR", "", "folder for records.jsonl; created if missing"))},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "folders with records.jsonl",
                           .repeatable = true}},
          .examples = {{"Merge two halves of a sweep", "thinpipe merge half-1 half-2 --out whole"}},
          .prepare = prepare_merge};
}

}  // namespace thinpipe
