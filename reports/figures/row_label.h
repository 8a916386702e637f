// Names at the left of rows.
#pragma once

#include <string>

namespace thinpipe {

/// `label`, cut where it has no room and whole in its tooltip, ending at `right` on the row whose
/// middle lies at `y`.
std::string row_label(const std::string& label, double right, double y);

}  // namespace thinpipe
