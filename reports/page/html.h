// The pieces that HTML pages are put together from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/page/table.h"
#include "reports/record/record.h"

namespace thinpipe::html {

/// The page's style sheet and script.
std::string style();
std::string script();

/// The whole document around `body`, which begins with a <header> and has a section for each of its
/// parts; `title` is plain text. Has a link past what stands before the content.
std::string document(const std::string& title, const std::string& body);

/// Links to the page's sections: their ids and names, plain text.
std::string contents(const std::vector<std::pair<std::string, std::string>>& sections);

/// The table in a box that scrolls sideways; `label` names it for assistive technology. With facets
/// (Table::facets) the script puts a search field and a choice for each of them above it, and says
/// how many rows there are.
std::string table(const Table& table, const std::string& label, bool is_sortable);

/// Comma-separated values to look at, to copy and, with the script, to save as `name`.csv.
std::string csv(const std::string& name, const std::string& summary, const std::string& text);

/// Title, legend, drawings, caption, the data behind them and how to reproduce it.
std::string figure(const Figure& figure, const std::vector<std::string>& commands);

/// One after the other, two beside each other where there is room.
std::string figures(const std::vector<Figure>& figures, const std::vector<std::string>& commands);

/// The top of a page: its headline, plain text, and a line of facts, finished.
std::string masthead(const std::string& headline, const std::string& facts);

/// The first part of the page: sentences, set off from the rest.
std::string findings(const std::vector<std::string>& sentences);

/// A part of the page with its heading; `title` is plain text, `inside` finished.
std::string section(const std::string& id, const std::string& title, const std::string& inside);

std::string list(const std::vector<std::string>& lines);

/// Every launch: command, trace, machine, calibration.
std::string provenance(const Records& records);

}  // namespace thinpipe::html
