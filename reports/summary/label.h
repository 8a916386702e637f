// Short names for compressors: what tells them apart, and no more.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Labels for distinct compressor specs (`name:key=value,…`), in the same order: the name alone
/// where it is the only one of that name, else with those keys whose values differ between its
/// likes ("topk ratio=0.01"). Two specs never get the same label.
std::vector<std::string> short_labels(const std::vector<std::string>& specs);

}  // namespace thinpipe
