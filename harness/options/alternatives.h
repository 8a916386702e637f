// Options whose values are alternatives to be tried one after the other: 1|2|4, or given again.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Values and lists of values joined by '|', each once, in the order given.
std::vector<std::string> alternatives(const std::vector<std::string>& texts);

/// The same of whole numbers from 1 to `most`.
/// @param option  its name without dashes, and `of` what it counts, for the error
/// @throws InputError naming what is not such a number
std::vector<int> count_alternatives(const std::vector<std::string>& texts,
                                    const std::string& option, const std::string& of, int most);

}  // namespace thinpipe
