// The building blocks of HTML pages and of Markdown reports.
#pragma once

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
