// Figures, lists and compressors' names as people read them. Figures have three significant digits;
// those with a unit are base/units.h.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Three significant digits without an exponent between 0.001 and 1e6: "0.123", "12.3", "1230".
std::string format_number(double value);
std::string format_percent(double share);  ///< 0.123 -> "12.3 %"

/// "6.5 to 7.1", or "no interval" when there is none.
std::string format_interval(const Estimate& estimate, std::string (*format)(double));

/// The parts with the separator between them.
std::string joined(const std::vector<std::string>& parts, const std::string& separator);

/// "a, b and c"; of more than five names the first four and "3 others", because more would hide the
/// sentence's point and a table has them all.
std::string listed(std::vector<std::string> names);

/// "memory=none", "ratio=0.01" of "topk:memory=none,ratio=0.01", in the spec's order; none of
/// rules.
std::vector<std::string> spec_parameters(const std::string& spec);

/// A spec, and how much of a gradient it says to send.
struct SpecAmount {
  std::string family;  ///< the spec without it: "topk:memory=none"
  std::string amount;  ///< "ratio=0.01", SBC's "p=0.01", or ""
};
SpecAmount split_amount(const std::string& spec);

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
