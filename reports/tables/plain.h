// A report's table for a terminal.
#pragma once

#include <string>

#include "reports/tables/table.h"

namespace thinpipe {

/// The cells' texts without what is set smaller beside them; what is best has a `*` behind it, what
/// is doubtful a `?`. What stands behind a kBeside has a line of its own.
std::string plain_text(const Table& table);

}  // namespace thinpipe
