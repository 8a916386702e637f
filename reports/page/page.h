// The building blocks of HTML pages and of Markdown reports, and reports in either format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/page/table.h"
#include "reports/record/record.h"

namespace thinpipe::html {

/// Return the page's style sheet and script.
std::string style();
std::string script();

/// Returns the whole document around `body`, which begins with a <header> and has a section per
/// part; `title` is plain text. A skip link leads to the content. `more_script`, for elements of
/// this page alone, follows script().
std::string document(const std::string& title, const std::string& body,
                     const std::string& more_script = "");

/// Returns links to the page's sections, given as ids and names in plain text.
std::string contents(const std::vector<std::pair<std::string, std::string>>& sections);

/// Returns the table in a box that scrolls sideways; `label` names it for screen readers. With
/// facets (Table::facets), the script adds a search field, a choice per facet and the number of
/// rows.
std::string table(const Table& table, const std::string& label, bool is_sortable);

/// Returns comma-separated values to read, to copy and, with the script, to save as `name`.csv.
std::string csv(const std::string& name, const std::string& summary, const std::string& text);

/// Returns title, legend, drawings, caption, data and the commands to reproduce the figure.
std::string figure(const Figure& figure, const std::vector<std::string>& commands);

/// Returns the figures in a grid of up to two columns.
std::string figures(const std::vector<Figure>& figures, const std::vector<std::string>& commands);

/// Returns the top of a page: its headline, plain text, and a line of facts, finished markup.
std::string masthead(const std::string& headline, const std::string& facts);

/// Returns the page's first section, the findings.
std::string findings(const std::vector<std::string>& sentences);

/// Returns a section with its heading; `title` is plain text, `inside` finished markup.
std::string section(const std::string& id, const std::string& title, const std::string& inside);

/// Returns a list of lines in plain text.
std::string list(const std::vector<std::string>& lines);

/// Returns command, trace, machine and calibration of every launch.
std::string provenance(const Records& records);

// A figure of a page as a separate file, for a paper or slides.

/// Returns the ids of the figures in a page, in its order; may be empty.
std::vector<std::string> figure_names(std::string_view page);

/// Returns the id of the figure that `name` selects. `name` is the id itself, or the end of a
/// single id after a dash: `step-time` selects `g0-step-time` in a report of one group.
/// @throws InputError where no id or several ids match, with their names
std::string figure_called(std::string_view page, const std::string& name);

/// Returns the figure as one SVG document: titles, legend and drawings, in the colours of light
/// pages and without styles that only browsers support. `page` is the result of html::document().
/// @throws InputError as figure_called()
std::string standalone_svg(std::string_view page, const std::string& name);

/// Returns a drawing (markup) of this size as an SVG document in the colours of light pages, with a
/// margin. @param title  description for screen readers; plain text, may be empty
std::string standalone_document(double width, double height, const std::string& title,
                                const std::string& body);

}  // namespace thinpipe::html

namespace thinpipe::markdown {

std::string table(const Table& table);
std::string bullets(const std::vector<std::string>& lines);
/// Returns an indented block; line ends inside a line become spaces.
std::string code_block(const std::vector<std::string>& lines);
/// Returns trace, machine and calibration of every launch.
std::string provenance(const Records& records);

}  // namespace thinpipe::markdown

namespace thinpipe {

enum class ReportFormat {
  kHtml,      ///< one self-contained file with figures; needs gnuplot
  kMarkdown,  ///< text and tables
};

/// The begin of a report; plain text.
struct ReportHead {
  std::string headline;
  std::string facts;                        ///< a line below the headline
  std::optional<std::string> created = {};  ///< follows the facts, on a page alone
  std::vector<std::string> findings;        ///< sentences
  std::vector<std::string> commands;        ///< that reproduce the report, for a shell
};

/// Writes a report section by section, as a page or as Markdown. A page alone has figures, commands
/// of a table's rows and comma-separated values. Titles are plain text without Markdown's
/// punctuation.
class ReportWriter {
 public:
  ReportWriter(ReportFormat format, ReportHead head);

  /// Returns true for a page, the only format with figures.
  bool is_page() const { return format_ == ReportFormat::kHtml; }

  /// Writes a section of figures, on a page alone.
  void figures(const std::string& id, const std::string& title, const std::vector<Figure>& figures);
  /// Writes the section "Figures", on a page alone and only if there are any.
  void figures(const std::vector<Figure>& figures);
  /// Writes a section with a table.
  void table(const std::string& id, const std::string& title, const Table& content,
             bool is_sortable = true);
  /// Writes a section with the table of all points. A page also has the command of each row, and
  /// the table as `name`.csv.
  void points(const std::string& title, Table content, const std::string& name,
              const std::vector<std::string>& commands);
  /// Writes tables with their titles: a section each in Markdown, one section on a page.
  void tables(const std::string& id, const std::string& title,
              const std::vector<std::pair<std::string, Table>>& tables);
  /// Writes the notes on the records file, if there are any.
  void notes(const Records& records);

  /// Writes how the report was computed, how to reproduce it (Markdown alone, since each figure of
  /// a page tells it) and the provenance. Returns the whole report.
  /// @param name    the page's title begins with it: "Bench"
  /// @param origin  null: without provenance
  std::string finish(const std::string& name, const std::vector<std::string>& method,
                     const Records* origin);

 private:
  void section(const std::string& id, const std::string& title, const std::string& inside);
  void list(const std::string& id, const std::string& title, const std::vector<std::string>& lines);

  ReportFormat format_;
  std::vector<std::string> commands_;
  std::string text_;
};

}  // namespace thinpipe
