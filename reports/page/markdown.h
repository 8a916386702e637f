// The pieces that Markdown reports are put together from.
#pragma once

#include <string>
#include <vector>

#include "reports/page/table.h"
#include "reports/record/record.h"

namespace thinpipe::markdown {

std::string table(const Table& table);
std::string bullets(const std::vector<std::string>& lines);
/// An indented block takes any text but line ends.
std::string code_block(const std::vector<std::string>& lines);
/// Every launch: trace, machine, calibration.
std::string provenance(const Records& records);

}  // namespace thinpipe::markdown
