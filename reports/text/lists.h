// Lists of words inside a sentence.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

std::string joined(const std::vector<std::string>& parts, const std::string& separator);

/// "a, b and c"; of more than five names the first four and "3 others", because more would hide the
/// sentence's point and a table has them all.
std::string listed(std::vector<std::string> names);

}  // namespace thinpipe
