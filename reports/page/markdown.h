// The building blocks of Markdown reports.
#pragma once

#include <string>
#include <vector>

#include "reports/page/table.h"
#include "reports/record/record.h"

namespace thinpipe::markdown {

std::string table(const Table& table);
std::string bullets(const std::vector<std::string>& lines);
/// Returns an indented block; line ends inside a line become spaces.
std::string code_block(const std::vector<std::string>& lines);
/// Returns trace, machine and calibration of every launch.
std::string provenance(const Records& records);

}  // namespace thinpipe::markdown
