// `thinpipe report`: from the records of a run to what people read.

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
#include "harness/commands/step_options.h"
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
#include "reports/kept/kept.h"
#include "reports/page/standalone.h"
#include "reports/record/reader.h"
#include "reports/report.h"
#include "reports/training/summary.h"
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
  print_message("thinpipe report: no xdg-open here; open " + file.string() + " yourself");
}

// The findings alone, a paragraph each, for the end of a terminal session.
std::string html_paragraphs(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += wrap(sentence, 0) + "\n";
  return text;
}

std::string findings(const Records& records) {
  return html_paragraphs(verdict(records)) + html_paragraphs(records.notes);
}

/// Subject of a report, whatever was measured.
struct Page {
  std::filesystem::path source;                     ///< the file, or a history's first folder
  std::string what;                                 ///< "statistics of gradients"
  std::function<std::string(ReportFormat)> render;  ///< HTML or Markdown
  std::function<std::string()> findings;            ///< for a terminal
  std::function<std::string()> csv;                 ///< of a history alone
  std::filesystem::path place;                      ///< where files go by default, without ending
};

Page stats_page(const StatsRecords& records) {
  return {records.origin.file,
          "statistics of gradients",
          [records](ReportFormat format) { return render_stats(records, format); },
          [records] { return html_paragraphs(stats_findings(summarize(records))); },
          {},
          std::filesystem::path(records.origin.file).replace_extension()};
}

Page history_page(const std::vector<std::filesystem::path>& folders) {
  const auto summary = std::make_shared<const HistorySummary>(summarize(read_history(folders)));
  const std::filesystem::path& first = folders.front();
  return {first,

          "a history",
          [=](ReportFormat format) { return render_history(*summary, format, folders); },
          [=] { return html_paragraphs(history_findings(*summary)); },
          [=] { return history_csv(*summary); },
          (std::filesystem::is_directory(first) ? first : first.parent_path()) / "history"};
}

Page kept_page(const Records& records) {
  return {records.file,
          "the records of thinpipe quality",
          [records](ReportFormat format) { return render_kept(records, format); },
          [records] {
            return html_paragraphs(kept_findings(summarize_kept(records))) +
                   html_paragraphs(records.notes);
          },
          {},
          records.file.parent_path() / "report"};
}

Page bench_page(const Records& records) {
  return {records.file,
          "the records of thinpipe bench",
          [records](ReportFormat format) { return render_bench(records, format); },
          [records] {
            return html_paragraphs(bench_findings(summarize_bench(records))) +
                   html_paragraphs(records.notes);
          },
          {},
          records.file.parent_path() / "report"};
}

Page training_page(const Records& records) {
  return {records.file,
          "the records of thinpipe train",
          [records](ReportFormat format) { return render_training(records, format); },
          [records] { return training_text(records); },
          {},
          records.file.parent_path() / "report"};
}

Page run_page(const std::string& folder, std::optional<double> time_scale,
              const std::string& trained_folder) {
  const Records records = reported_records(folder, time_scale);
  std::optional<Records> trained;
  if (!trained_folder.empty()) trained = read_records(trained_folder);
  return {records.file,
          "the records of a run",
          [records, trained](ReportFormat format) {
            return render_report(records, format, trained ? &*trained : nullptr);
          },
          [records] { return findings(records); },
          {},
          records.file.parent_path() / "report"};
}

// A history is of one kind; who gives a run and a training beside each other wants both reports.
void refuse_runs_with_trainings(const std::vector<std::string>& folders) {
  const auto first_of = [&](const char* kind) {
    return std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
      return find_records(folder, kind).has_value();
    });
  };
  const auto run = first_of(kRunKind), training = first_of(kTrainKind);
  if (run != folders.end() && training != folders.end())
    throw InputError(*run + " has the records of a run, " + *training +
                     " those of a training: `thinpipe report " + *run + " --trained " + *training +
                     "` has both in one page, and each is a report of its own");
}

Page page_of(const Arguments& arguments) {
  const std::vector<std::string>& folders = arguments.positionals("DIR");
  const std::string& folder = folders.front();
  const bool wants_history = arguments.flag("history") || arguments.text("format") == "csv";
  if (folders.size() == 1 && !wants_history) {
    // One launch is a page of its own, several are a history.
    if (const auto kept = find_records(folder, kQualityKind); kept && kept->headers.size() == 1)
      return kept_page(*kept);
    if (const auto bench = find_records(folder, kBenchKind); bench && bench->headers.size() == 1)
      return bench_page(*bench);
    if (const auto trained = find_records(folder, kTrainKind)) return training_page(*trained);
  }
  if (folders.size() > 1 && !arguments.flag("history")) refuse_runs_with_trainings(folders);
  if (arguments.flag("history") || folders.size() > 1 || is_history(folder))
    return history_page({folders.begin(), folders.end()});
  if (wants_history)
    throw InputError(
        folder +
        ": csv is of histories (--history); `thinpipe export` writes the samples of a run");
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

// Runs `write` (other programs) in a temporary folder; tells when the user stopped it.
int on_paper(const Arguments& arguments, const std::filesystem::path& file,
             const std::function<void(const std::filesystem::path& scratch)>& write) {
  const int code = run_outside_sandbox([&](const Sandbox& sandbox) {
    try {
      write(sandbox.scratch);
      return int{kExitGood};
    } catch (const RunError& error) {
      if (!stop_requested()) throw;
      print_message(std::string("thinpipe report: ") + error.what());
      return 128 + stop_signal();
    }
  });
  return code == kExitGood ? finish(file, arguments) : code;
}

// The names of the figures, or one of them as a file.
int report_figure(const Page& page, const Arguments& arguments) {
  const std::string html = page.render(ReportFormat::kHtml);
  const std::string& name = arguments.text("figure");
  if (name == "list") {
    for (const std::string& known : html::figure_names(html)) write_stdout(known + "\n");
    return kExitGood;
  }
  const std::string format = arguments.given("format") ? arguments.text("format") : "svg";
  if (format != "svg" && format != "pdf" && format != "png")
    throw InputError("--figure goes with --format svg, pdf or png, not with " + format);
  const std::string svg = html::standalone_svg(html, name);
  if (arguments.text("output") == "-") {
    if (format != "svg") throw InputError("--output - takes svg; give a file for " + format);
    write_data(svg);
    return kExitGood;
  }
  const auto file = output_or(arguments, page.place.parent_path() / name, format);
  return on_paper(arguments, file, [&](const std::filesystem::path& scratch) {
    write_figure(svg, format, scratch, file);
  });
}

int report(const Page& page, const Arguments& arguments) {
  const std::string& format = arguments.text("format");
  if (arguments.given("figure")) return report_figure(page, arguments);
  if (format == "text" || format == "csv") {
    if (format == "csv") {
      write_data(page.csv());
    } else {
      write_text(page.findings());
    }
    return kExitGood;
  }
  if (format == "pdf") {
    if (arguments.text("output") == "-") throw InputError("--output - takes html or md, not pdf");
    const auto file = output_or(arguments, page.place, "pdf");
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
  const auto file = output_or(arguments, page.place, format);
  write_output(file, text);
  return finish(file, arguments);
}

Action prepare_report(const Arguments& arguments) {
  const std::string& format = arguments.text("format");
  const bool is_figure = arguments.given("figure");
  if ((format == "text" || format == "csv") && arguments.given("output"))
    throw InputError("--output goes with html, md and pdf; " + format + " goes to standard output");
  if ((format == "svg" || format == "png") && !is_figure)
    throw InputError("--format " + format +
                     " is of one figure: give --figure NAME; --figure list names them");
  const Page page = page_of(arguments);
  for (const char* option : {"time-scale", "trained"})
    if (arguments.given(option) && page.what != "the records of a run")
      throw InputError("--" + std::string(option) + " goes with the records of a run; " +
                       page.source.string() + " has " + page.what);
  return [&arguments, page] { return report(page, arguments); };
}

}  // namespace

Verb report_verb() {
  return {
      .name = "report",
      .summary = "Make a page of figures and tables from a run's records",
      .description =
          "Writes one file that needs no network: step time against link rate, speed-up over the "
          "baselines and the rate at which it stops to pay, what a step is made of, errors, and "
          "how well the links held. Only points that can be trusted count. Of the records of "
          "thinpipe trace stats instead: distributions with what was fitted to them, decay, "
          "similarity. Of the records of thinpipe quality: estimation quality by ratio, what is "
          "kept by step and by tensor. Of the records of thinpipe bench: times against Top-k and "
          "against the memory's limit. Of the records of thinpipe train: what is learned against "
          "steps, bytes and emulated seconds. Of several folders, of a folder of record files, and "
          "of several launches of thinpipe bench or thinpipe quality: what every metric has been "
          "from launch to launch, and whether the newest value belongs there. Prints the file's "
          "name. HTML needs gnuplot, Markdown needs nothing; PDF of a page needs Chromium, PDF and "
          "PNG of a figure need rsvg-convert.",
      .options = {{.name = "format",
                   .letter = 'f',
                   .value_name = "FORMAT",
                   .type = Type::kChoice,
                   .default_value = "html",
                   .help = "what to write; text is the findings alone, on standard output; csv has "
                           "the values of a history, there too; pdf is the page as Chromium prints "
                           "it, or a figure; svg and png are of a figure",
                   .choices = {"html", "md", "pdf", "text", "csv", "svg", "png"}},
                  {.name = "output",
                   .letter = 'o',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "where to write, - for standard output; by default report.html or "
                           "report.md beside a run's records, trace-stats.html beside statistics, "
                           "history.html in the first folder, a figure beside them under its name"},
                  {.name = "figure",
                   .value_name = "NAME",
                   .type = Type::kText,
                   .help = "one figure of the page as a file for a paper, as svg unless --format "
                           "says pdf or png; list prints the names there are"},
                  {.name = "history",
                   .help = "every launch in the folder's *.jsonl files, of a run's too, by the "
                           "hour at which it began"},
                  {.name = "time-scale",
                   .value_name = "F",
                   .type = Type::kText,
                   .help = "only points run with --time-scale F, and how others compare with them"},
                  {.name = "trained",
                   .value_name = "DIR",
                   .type = Type::kFolder,
                   .help = "records of thinpipe train with the run's compressors: the page then "
                           "has step time against final loss, too"},
                  {.name = "open",
                   .value_name = "YES",
                   .type = Type::kChoice,
                   .default_value = "no",
                   .help = "show it in the desktop's browser",
                   .choices = {"yes", "no"}}},
      .positionals =
          {{.name = "DIR",
            .type = Type::kFolder,
            .help = "the run's folder, which has a records.jsonl; or one of statistics, with a "
                    "trace-stats.jsonl; or such a file; or folders of files of one measurement",
            .repeatable = true}},
      .examples = {{"A page to look at", "thinpipe report out"},
                   {"Text for a merge request", "thinpipe report out --format md -o -"},
                   {"How gradients are distributed", "thinpipe report stats"},
                   {"What a nightly bench has been", "thinpipe report nightly"},
                   {"A figure for a paper",
                    "thinpipe report out --figure g0-step-time --format pdf -o step-time.pdf"}},
      .prepare = prepare_report};
}

}  // namespace thinpipe
