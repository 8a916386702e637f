// `thinpipe export` and `thinpipe merge`: records for other programs, and of several runs in one.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/export/export.h"
#include "reports/record/launches.h"
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

// Formats that have no place for what is not to be trusted do not pass over it in silence.
void tell_left_out(const std::vector<LaunchRecords>& launches) {
  std::size_t all = 0, doubtful = 0;
  for (const LaunchRecords& launch : launches) {
    all += launch.points.size();
    doubtful += static_cast<std::size_t>(
        std::count_if(launch.points.begin(), launch.points.end(),
                      [](const nlohmann::json& point) { return point.at("status") != "ok"; }));
  }
  if (doubtful > 0)
    std::fprintf(stderr, "thinpipe export: left out %zu of %zu points, which are not `ok`\n",
                 doubtful, all);
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
  if (format == "bmf" || format == "google-benchmark") tell_left_out(launches);
  const std::string& file = arguments.text("output");
  if (file == "-") {
    write_data(text);
  } else {
    write_output(file, text);
  }
  return kExitGood;
}

// Launches that were measured with the same: everything but when, and how busy the machine was.
void require_alike(const std::vector<std::pair<std::string, LaunchRecords>>& launches) {
  const auto& [first_name, first] = launches.front();
  for (const auto& [name, launch] : launches) {
    if (launch.header.at("kind") != first.header.at("kind"))
      throw InputError(name + ": records of '" + launch.header.at("kind").get<std::string>() +
                       "'; those of " + first_name + " are of '" +
                       first.header.at("kind").get<std::string>() + "'");
    std::vector<std::string> differences =
        setting_differences(first.header.at("fingerprint"), launch.header.at("fingerprint"));
    for (const char* key : {"seed", "threads", "simd", "settings"})
      if (first.header.value(key, nlohmann::json()) != launch.header.value(key, nlohmann::json()))
        differences.push_back(std::string(key) + ": " +
                              first.header.value(key, nlohmann::json()).dump() + " against " +
                              launch.header.value(key, nlohmann::json()).dump());
    const auto identity = [](const LaunchRecords& of) {
      return of.header.value("trace", nlohmann::json::object()).value("identity", "");
    };
    if (identity(first) != identity(launch))
      differences.push_back("trace: '" + identity(first) + "' against '" + identity(launch) + "'");
    if (!differences.empty())
      throw InputError(name + " and " + first_name +
                       " were not measured alike and cannot be merged: " + differences.front());
  }
}

int merge_records(const Arguments& arguments) {
  std::vector<std::pair<std::string, LaunchRecords>> launches;
  for (const std::string& folder : arguments.positionals("DIR"))
    for (LaunchRecords& launch : read_launches(folder))
      launches.emplace_back(folder, std::move(launch));
  if (launches.empty()) throw InputError("there is not one record in these folders");
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
              "csv has a row a sample, with every axis a column; google-benchmark is what its "
              "compare.py reads; bmf is Bencher's metric format; perfetto has the recorded step of "
              "every rank of a run, for ui.perfetto.dev and chrome://tracing.",
          .options = {{.name = "format",
                       .letter = 'f',
                       .value_name = "FORMAT",
                       .type = Type::kChoice,
                       .default_value = "csv",
                       .help = "what to write",
                       .choices = {std::begin(kFormats), std::end(kFormats)}},
                      {.name = "csv", .help = "the same as --format csv"},
                      {.name = "google-benchmark", .help = "the same as --format google-benchmark"},
                      {.name = "bmf", .help = "the same as --format bmf"},
                      {.name = "perfetto", .help = "the same as --format perfetto"},
                      {.name = "output",
                       .letter = 'o',
                       .value_name = "FILE",
                       .type = Type::kFile,
                       .default_value = "-",
                       .help = "where to write; - is standard output"}},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "folder with records.jsonl, or the file"}},
          .examples = {{"For a spreadsheet, pandas or R", "thinpipe export out -o out.csv"},
                       {"Every rank's phases in the Perfetto UI",
                        "thinpipe export out -f perfetto -o step.json"}},
          .prepare = prepare_export};
}

Verb merge_verb() {
  return {.name = "merge",
          .summary = "Put records of several runs into one folder",
          .description =
              "For sweeps that were run in parts (--shard). Refuses records that were not measured "
              "alike: another machine, build, trace, seed or setting. Where a point stands twice, "
              "the later one counts.",
          .options = {{.name = "out",
                       .value_name = "DIR",
                       .type = Type::kFolder,
                       .help = "folder for records.jsonl; made if need be",
                       .required = true}},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "folders with records.jsonl",
                           .repeatable = true}},
          .examples = {{"Two halves of a sweep", "thinpipe merge half-1 half-2 --out whole"}},
          .prepare = prepare_merge};
}

}  // namespace thinpipe
