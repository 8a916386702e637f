// `thinpipe report`: reports with figures and tables from records.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/visible.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/machine/programs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/paper/paper.h"
#include "netem/sandbox.h"
#include "reports/bench/bench.h"
#include "reports/gate/history.h"
#include "reports/gradients/summary.h"
#include "reports/history/page.h"
#include "reports/page/page.h"
#include "reports/quality/quality.h"
#include "reports/record/reader.h"
#include "reports/report.h"
#include "reports/training/summary.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

// Opens the file in the desktop without waiting. A failure to open it is no error.
void open_page(const std::filesystem::path& file) {
  try {
    if (const auto opener = find_in_path("xdg-open")) {
      start_process(*opener, {file.string()}, -1, 2, 2);  // stdout has the file's name only
      return;
    }
  } catch (const SystemError&) {
    // As without xdg-open.
  }
  print_message("thinpipe report: cannot start xdg-open; open " + file.string() + " by hand");
}

// Returns the findings, one paragraph each, for a terminal.
std::string text_paragraphs(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += wrap(sentence, 0) + "\n";
  return text;
}

std::string with_notes(const std::vector<std::string>& findings, const Records& records) {
  return text_paragraphs(findings) + text_paragraphs(records.notes);
}

/// Subject of a report, for any kind of measurement.
struct Page {
  std::filesystem::path source;                     ///< the file, or the first folder of a history
  std::string what;                                 ///< "statistics of gradients"
  std::function<std::string(ReportFormat)> render;  ///< HTML or Markdown
  std::function<std::string()> findings;            ///< for a terminal
  std::function<std::string()> csv;                 ///< for a history only
  std::filesystem::path default_output;             ///< without file extension
};

Page stats_page(const StatsRecords& records) {
  return {records.origin.file,
          "statistics of gradients",
          [records](ReportFormat format) { return render_stats(records, format); },
          [records] { return text_paragraphs(stats_findings(summarize(records))); },
          {},
          std::filesystem::path(records.origin.file).replace_extension()};
}

Page history_page(const std::vector<std::filesystem::path>& folders) {
  const auto summary = std::make_shared<const HistorySummary>(summarize(read_history(folders)));
  const std::filesystem::path& first = folders.front();
  return {first,
          "a history",
          [=](ReportFormat format) { return render_history(*summary, format, folders); },
          [=] { return text_paragraphs(history_findings(*summary)); },
          [=] { return history_csv(*summary); },
          (std::filesystem::is_directory(first) ? first : first.parent_path()) / "history"};
}

// Returns the page of records, which is written beside them.
Page records_page(const Records& records, const char* what,
                  const std::function<std::string(const Records&, ReportFormat)>& render,
                  const std::function<std::string(const Records&)>& findings) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished point yet, so there is nothing to report; let the measurement "
                     "finish a point (run and train continue with --resume)");
  return {records.file,
          what,
          [=](ReportFormat format) { return render(records, format); },
          [=] { return findings(records); },
          {},
          records.file.parent_path() / "report"};
}

Page quality_page(const Records& quality) {
  return records_page(quality, "the records of thinpipe quality", render_quality,
                      [](const Records& records) {
                        return with_notes(quality_findings(summarize_quality(records)), records);
                      });
}

Page bench_page(const Records& bench) {
  return records_page(bench, "the records of thinpipe bench", render_bench,
                      [](const Records& records) {
                        return with_notes(bench_findings(summarize_bench(records)), records);
                      });
}

Page run_page(const std::string& folder, std::optional<double> time_scale,
              const std::string& trained_folder) {
  const Records run = reported_records(folder, time_scale);
  std::optional<Records> trained;
  if (!trained_folder.empty()) trained = read_records(trained_folder);
  return records_page(
      run, "the records of a run",
      [trained](const Records& records, ReportFormat format) {
        return render_report(records, format, trained ? &*trained : nullptr);
      },
      [](const Records& records) { return with_notes(verdict(records), records); });
}

// A history has records of one kind. A run and a training together need two reports.
void refuse_runs_with_trainings(const std::vector<std::string>& folders) {
  const auto first_of = [&](const char* kind) {
    return std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
      return find_records(folder, kind).has_value();
    });
  };
  const auto run = first_of(kRunKind), training = first_of(kTrainKind);
  if (run != folders.end() && training != folders.end())
    throw InputError(*run + " has the records of a run, and " + *training +
                     " those of a training; use `thinpipe report " + *run + " --trained " +
                     *training + "` for one page, or a report for each");
}

Page page_of(const Arguments& arguments) {
  const std::vector<std::string>& folders = arguments.positionals("DIR");
  const std::string& folder = folders.front();
  const bool wants_history = arguments.flag("history") || arguments.text("format") == "csv";
  if (folders.size() == 1 && !wants_history) {
    // One launch is a page of its own; several launches are a history.
    if (const auto quality = find_records(folder, kQualityKind);
        quality && quality->headers.size() == 1)
      return quality_page(*quality);
    if (const auto bench = find_records(folder, kBenchKind); bench && bench->headers.size() == 1)
      return bench_page(*bench);
    if (const auto trained = find_records(folder, kTrainKind))
      return records_page(*trained, "the records of thinpipe train", render_training,
                          [](const Records& records) {
                            return training_text(records) + text_paragraphs(records.notes);
                          });
  }
  if (folders.size() > 1 && !arguments.flag("history")) refuse_runs_with_trainings(folders);
  if (arguments.flag("history") || folders.size() > 1 || is_history(folder))
    return history_page({folders.begin(), folders.end()});
  if (wants_history)
    throw InputError(
        folder +
        ": csv needs a history (--history); `thinpipe export` writes the samples of a run");
  if (const auto stats = find_trace_stats(folder)) return stats_page(*stats);
  std::optional<double> time_scale;
  if (arguments.given("time-scale")) time_scale = parse_time_scale(arguments.text("time-scale"));
  return run_page(folder, time_scale, arguments.text("trained"));
}

int finish(const std::filesystem::path& written, const Arguments& arguments) {
  write_stdout(written.string() + "\n");
  if (arguments.text("open") == "yes") open_page(written);
  return kExitGood;
}

std::filesystem::path output_or(const Arguments& arguments, std::filesystem::path standard,
                                const std::string& ending) {
  if (arguments.given("output")) return arguments.text("output");
  return standard += "." + ending;
}

// Runs `write`, which starts other programs, in a temporary folder.
int on_paper(const Arguments& arguments, const std::filesystem::path& file,
             const std::function<void(const std::filesystem::path& scratch)>& write) {
  run_outside_sandbox([&](const Sandbox& sandbox) {
    write(sandbox.scratch);
    return kExitGood;
  });
  return finish(file, arguments);
}

// Prints the names of the figures, or writes one of them to a file.
int report_figure(const Page& page, const Arguments& arguments) {
  const std::string html = page.render(ReportFormat::kHtml);
  const std::string& name = arguments.text("figure");
  if (name == "list") {
    for (const std::string& known : html::figure_names(html)) write_stdout(known + "\n");
    return kExitGood;
  }
  const std::string format = arguments.given("format") ? arguments.text("format") : "svg";
  if (format != "svg" && format != "pdf" && format != "png")
    throw InputError("--figure needs --format svg, pdf or png, found " + format);
  const std::string svg = html::standalone_svg(html, name);
  if (arguments.text("output") == "-") {
    if (format != "svg")
      throw InputError("--output - supports svg only; expected a file for " + format);
    write_data(svg);
    return kExitGood;
  }
  const auto file = output_or(arguments, page.default_output.parent_path() / name, format);
  return on_paper(arguments, file, [&](const std::filesystem::path& scratch) {
    write_figure(svg, format, scratch, file);
  });
}

int report(const Page& page, const Arguments& arguments) {
  const std::string& format = arguments.text("format");
  if (arguments.given("figure")) return report_figure(page, arguments);
  if (format == "text" || format == "csv") {
    format == "csv" ? write_data(page.csv()) : write_text(page.findings());
    return kExitGood;
  }
  if (format == "pdf") {
    if (arguments.text("output") == "-")
      throw InputError("--output - supports html and md, not pdf");
    const auto file = output_or(arguments, page.default_output, "pdf");
    const std::string html = page.render(ReportFormat::kHtml);
    return on_paper(arguments, file, [&](const std::filesystem::path& scratch) {
      write_page_pdf(html, scratch, file);
    });
  }
  const std::string text = page.render(parse_report_format(format));
  if (arguments.text("output") == "-") {
    write_data(text);
    return kExitGood;
  }
  const auto file = output_or(arguments, page.default_output, format);
  write_output(file, text);
  return finish(file, arguments);
}

Action prepare_report(const Arguments& arguments) {
  const std::string& format = arguments.text("format");
  const bool is_figure = arguments.given("figure");
  if ((format == "text" || format == "csv") && arguments.given("output"))
    throw InputError("--output applies to html, md and pdf; " + format +
                     " is written to standard output");
  if ((format == "svg" || format == "png") && !is_figure)
    throw InputError("--format " + format +
                     " applies to one figure and needs --figure NAME (--figure list prints names)");
  const Page page = page_of(arguments);
  for (const char* option : {"time-scale", "trained"})
    if (arguments.given(option) && page.what != "the records of a run")
      throw InputError("--" + std::string(option) + " needs the records of a run; " +
                       page.source.string() + " has " + page.what);
  return [&arguments, page] { return report(page, arguments); };
}

}  // namespace

Verb report_verb() {
  return {
      .name = "report",
      .summary = "Create a report with figures and tables from records",
      .description =
          "Writes one self-contained file. For the records of a run: step time over link rate, "
          "speed-up over the baselines, break-even rates, breakdown of the step time, errors, and "
          "calibration of the links. Only valid points count.\n\n"
          "Other records have other reports. `thinpipe trace stats`: distributions with their "
          "fits, decay and similarity. `thinpipe quality`: estimation quality by ratio, and "
          "quality by step and tensor. `thinpipe bench`: times relative to top-k and to the memory "
          "roofline. `thinpipe train`: loss and accuracy over steps, bytes and emulated seconds. "
          "Several folders, a folder of record files, or several launches of bench or quality: the "
          "history of every metric, and whether the newest value is an outlier.\n\n"
          "Prints the name of the file. HTML needs gnuplot, the PDF of a page needs Chromium, and "
          "PDF and PNG of a figure need rsvg-convert. Markdown needs no other program.",
      .options = {choice_option("format,f", "FORMAT", "html",
                                {"html", "md", "pdf", "text", "csv", "svg", "png"},
                                "output format: html or md; text prints the findings; csv prints "
                                "the values of a history; pdf is the page by Chromium, or a "
                                "figure; svg and png are a figure"),
                  file_option("output,o", "FILE", "",
                              "output file, or - for standard output; by default report.html or "
                              "report.md beside a run's records, trace-stats.html beside "
                              "statistics, history.html in the first folder, and a figure under "
                              "its name beside these"),
                  text_option("figure", "NAME", "",
                              "write one figure as a file, by default as svg; list prints the "
                              "names of the figures"),
                  {.name = "history",
                   .help = "show the history of all launches in the folder's *.jsonl files over "
                           "their start times, also for a run"},
                  text_option("time-scale", "F", "",
                              "use only points with this time dilation factor, and show how others "
                              "agree with them"),
                  folder_option("trained", "DIR", "",
                                "records of `thinpipe train` with the run's compressors; adds a "
                                "figure of step time over final loss"),
                  choice_option("open", "YES", "no", {"yes", "no"},
                                "open the file in the desktop's browser")},
      .positionals =
          {{.name = "DIR",
            .type = Type::kFolder,
            .help = "folder with records.jsonl (a run) or trace-stats.jsonl (statistics), or such "
                    "a file; or several folders of the same measurement",
            .repeatable = true}},
      .examples = {{"HTML report", "thinpipe report out"},
                   {"Markdown for a merge request", "thinpipe report out --format md -o -"},
                   {"Distribution of gradients", "thinpipe report stats"},
                   {"History of a nightly bench", "thinpipe report nightly"},
                   {"A figure for a paper",
                    "thinpipe report out --figure g0-step-time --format pdf -o step-time.pdf"}},
      .prepare = prepare_report};
}

}  // namespace thinpipe
