// `thinpipe report`: from the records of a run to what people read.
#include "reports/report.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "harness/commands/output.h"
#include "harness/commands/time_scale_option.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/layout.h"
#include "harness/programs.h"
#include "reports/gate/history.h"
#include "reports/gradients/findings.h"
#include "reports/history/page.h"
#include "reports/kept/kept.h"
#include "reports/record/reader.h"
#include "reports/training/table.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

// Hands the file to the desktop and does not wait. A report that cannot be shown is still written.
void open_page(const std::filesystem::path& file) {
  try {
    if (const auto opener = find_in_path("xdg-open")) {
      start_process(*opener, {file.string()}, -1, 2, 2);  // our output is the file's name alone
      return;
    }
  } catch (const SystemError&) {
    // As without one.
  }
  std::fprintf(stderr, "thinpipe report: no xdg-open here; open %s yourself\n", file.c_str());
}

// The findings alone, a paragraph each, for the end of a terminal session.
std::string paragraphs(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += wrap(sentence, 0) + "\n";
  return text;
}

std::string findings(const Records& records) {
  return paragraphs(verdict(records)) + paragraphs(records.notes);
}

int finish(const std::filesystem::path& written, const Arguments& arguments) {
  write_stdout(written.string() + "\n");
  if (arguments.text("open") == "yes") open_page(written);
  return kExitGood;
}

int report_stats(const StatsRecords& records, const Arguments& arguments) {
  if (arguments.given("time-scale"))
    throw InputError("--time-scale goes with the records of a run; " +
                     records.origin.file.string() + " has statistics of gradients");
  if (arguments.text("format") == "text") {
    write_stdout(paragraphs(stats_findings(summarize(records))));
    return kExitGood;
  }
  const ReportFormat format = parse_report_format(arguments.text("format"));
  if (arguments.text("output") == "-") {
    write_stdout(render_stats(records, format));
    return kExitGood;
  }
  return finish(write_stats_report(records, {format, arguments.text("output"), std::nullopt}),
                arguments);
}

int report_history(const std::vector<std::filesystem::path>& folders, const Arguments& arguments) {
  if (arguments.given("time-scale"))
    throw InputError("--time-scale goes with the records of one run, not with a history");
  const HistorySummary summary = summarize(read_history(folders));
  const std::string& format = arguments.text("format");
  if (format == "text" || format == "csv") {
    write_stdout(format == "csv" ? history_csv(summary) : paragraphs(history_findings(summary)));
    return kExitGood;
  }
  if (arguments.text("output") == "-") {
    write_stdout(render_history(summary, parse_report_format(format), folders));
    return kExitGood;
  }
  return finish(
      write_history_report(summary, folders,
                           {parse_report_format(format), arguments.text("output"), std::nullopt}),
      arguments);
}

int report_kept(const Records& records, const Arguments& arguments) {
  if (arguments.given("time-scale"))
    throw InputError("--time-scale goes with the records of a run; " + records.file.string() +
                     " has those of thinpipe quality");
  if (arguments.text("format") == "text") {
    write_stdout(paragraphs(kept_findings(summarize_kept(records))) + paragraphs(records.notes));
    return kExitGood;
  }
  const ReportFormat format = parse_report_format(arguments.text("format"));
  if (arguments.text("output") == "-") {
    write_stdout(render_kept(records, format));
    return kExitGood;
  }
  return finish(write_kept_report(records, {format, arguments.text("output"), std::nullopt}),
                arguments);
}

int report(const Arguments& arguments) {
  std::optional<double> time_scale;
  if (arguments.given("time-scale")) time_scale = parse_time_scale(arguments.text("time-scale"));
  const std::string& format = arguments.text("format");
  if ((format == "text" || format == "csv") && arguments.given("output"))
    throw InputError("--output goes with html and md; " + format + " goes to standard output");
  const std::vector<std::string>& folders = arguments.positionals("DIR");
  if (folders.size() == 1 && !arguments.flag("history") && format != "csv") {
    // One launch is a page of its own, several are a history.
    const auto kept = find_kept_records(folders.front());
    if (kept && kept->headers.size() == 1) return report_kept(*kept, arguments);
  }
  if (arguments.flag("history") || folders.size() > 1 || is_history(folders.front()))
    return report_history({folders.begin(), folders.end()}, arguments);
  const std::string& folder = folders.front();
  if (format == "csv")
    throw InputError(folder +
                     ": csv is of histories (--history); `thinpipe export` writes the "
                     "samples of a run");
  if (const auto stats = find_trace_stats(folder)) return report_stats(*stats, arguments);
  if (format == "text") {
    if (const Records records = read_records(folder); records.kind() == kTrainKind) {
      write_stdout(training_text(records));
      return kExitGood;
    }
    write_stdout(findings(reported_records(folder, time_scale)));
    return kExitGood;
  }
  ReportOptions options;
  options.format = parse_report_format(arguments.text("format"));
  options.output = arguments.text("output");
  options.time_scale = time_scale;
  options.trained = arguments.text("trained");
  if (options.output == "-") {
    std::optional<Records> trained;
    if (!options.trained.empty()) trained = read_records(options.trained);
    write_stdout(render_report(reported_records(folder, time_scale), options.format,
                               trained ? &*trained : nullptr));
    return kExitGood;
  }
  return finish(write_report(folder, options), arguments);
}

}  // namespace

Verb report_verb() {
  return {
      .name = "report",
      .summary = "Make a page of figures and tables from a run's records",
      .description =
          "Writes one file that needs no network: step time against link rate, speed-up over "
          "no compression and the rate at which it stops to pay, what a step is made of, "
          "errors, and how well the links held. Only points that can be trusted count. Of the "
          "records of thinpipe trace stats instead: distributions with what was fitted to "
          "them, decay, similarity. Of the records of thinpipe quality: estimation quality by "
          "ratio, "
          "what is kept by step and by tensor. Of several folders, of a folder of record files, "
          "and "
          "of several launches of thinpipe bench or thinpipe quality: what every metric has been "
          "from launch to launch, and whether the newest value belongs there. Prints the file's "
          "name. HTML needs gnuplot, Markdown needs nothing.",
      .options = {{.name = "format",
                   .letter = 'f',
                   .value_name = "FORMAT",
                   .type = Type::kChoice,
                   .default_value = "html",
                   .help = "what to write; text is the findings alone, on standard output; csv has "
                           "the values of a history, there too",
                   .choices = {"html", "md", "text", "csv"}},
                  {.name = "output",
                   .letter = 'o',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "where to write, - for standard output; by default report.html or "
                           "report.md beside a run's records, trace-stats.html beside "
                           "statistics, history.html in the first folder"},
                  {.name = "history",
                   .help = "every launch in the folder's *.jsonl files, of a run's too, by the "
                           "hour at which it began"},
                  {.name = "time-scale",
                   .value_name = "F",
                   .type = Type::kText,
                   .help = "only points run with --time-scale F, and how others compare with "
                           "them"},
                  {.name = "trained",
                   .value_name = "DIR",
                   .type = Type::kFolder,
                   .help =
                       "records of thinpipe train with the run's compressors: the page then has "
                       "step time against final loss, too"},
                  {.name = "open",
                   .value_name = "YES",
                   .type = Type::kChoice,
                   .default_value = "no",
                   .help = "show it in the desktop's browser",
                   .choices = {"yes", "no"}}},
      .positionals = {{.name = "DIR",
                       .type = Type::kFolder,
                       .help = "the run's folder, which has a records.jsonl; or one of statistics, "
                               "with a trace-stats.jsonl; or such a file; or folders of files of "
                               "one measurement",
                       .repeatable = true}},
      .examples = {{"A page to look at", "thinpipe report out"},
                   {"Text for a merge request", "thinpipe report out --format md -o -"},
                   {"How gradients are distributed", "thinpipe report stats"},
                   {"What a nightly bench has been", "thinpipe report nightly"}},
      .run = report};
}

}  // namespace thinpipe
