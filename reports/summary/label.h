// Short names for compressors: what tells them apart, and no more.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Labels for distinct compressor specs (`name:key=value,…`), in the same order: the name alone
/// where it is the only one of that name, else with those keys whose values differ between its
/// likes ("topk ratio=0.01"). Two specs never get the same label.
/// Rules by tensors' names (`conv*:none;*:topk`) keep their whole text.
std::vector<std::string> short_labels(const std::vector<std::string>& specs);

/// How the points of one compressor went (Axes::pattern, Axes::feed): what of it tells them apart.
struct Way {
  std::string pattern, feed;
};

/// Labels for distinct ways, in the same order: the pattern where patterns differ, without the
/// exchange that all have in common, of the feed those parts that some fed otherwise lack. "" for
/// one way alone, and where the default is what is left.
std::vector<std::string> way_labels(const std::vector<Way>& ways);

}  // namespace thinpipe
