// The pieces that the page is put together from.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figures.h"
#include "reports/record/record.h"
#include "reports/tables/table.h"

namespace thinpipe::html {

/// The page's style sheet and script.
std::string style();
std::string script();

/// Everything up to the body; `title` is plain text.
std::string head(const std::string& title);

/// The table in a box that scrolls sideways; `label` names it for assistive technology.
std::string table(const Table& table, const std::string& label, bool is_sortable);

/// Title, legend, drawings, caption and how to reproduce it.
std::string figure(const Figure& figure, const std::vector<std::string>& commands);

std::string list(const std::vector<std::string>& lines);

/// Every launch: command, trace, machine, calibration.
std::string provenance(const Records& records);

}  // namespace thinpipe::html
