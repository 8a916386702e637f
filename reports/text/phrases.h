// Formats numbers, lists and compressors' names for readers. Numbers have three significant digits.
// Functions for numbers with a unit are in base/units.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Returns three significant digits, without an exponent between 0.001 and 1e6: "0.123", "12.3",
/// "1230".
std::string format_number(double value);
std::string format_percent(double fraction);  ///< 0.123 -> "12.3 %"

/// Returns "6.5 to 7.1", or "no interval" if the estimate has none.
std::string format_interval(const Estimate& estimate, std::string (*format)(double));

/// Returns "1 step" or "3 steps". `plural` is needed only if the plural is not the word plus s.
std::string counted(std::size_t count, const std::string& what, const std::string& plural = "");

/// Returns the parts with the separator between them.
std::string joined(const std::vector<std::string>& parts, const std::string& separator);

/// Returns "a, b and c". If there are more than five names, returns the first four and "3 others",
/// because a long list hides the sentence's point, and a table has all names.
std::string listed(std::vector<std::string> names);

/// Returns "none (fp32)" for the baseline `none`, which reads as an English word by itself; other
/// labels unchanged.
std::string baseline_words(const std::string& label);

/// Returns the method's name of a spec. Rules by tensors' names (`conv*:none;*:topk`) keep their
/// whole text.
std::string spec_name(const std::string& spec);

/// Returns "memory=none" and "ratio=0.01" of "topk:memory=none,ratio=0.01", in the spec's order.
/// Empty for rules.
std::vector<std::string> spec_parameters(const std::string& spec);

/// A spec, split into the fraction of a gradient to send and everything else.
struct SpecAmount {
  std::string family;  ///< the spec without the fraction: "topk:memory=none"
  std::string amount;  ///< "ratio=0.01", SBC's "p=0.01", or ""
};
SpecAmount split_amount(const std::string& spec);

/// Returns labels for distinct compressor specs (`name:key=value,…`), in the same order. A label is
/// the name, followed by the keys whose values differ between specs of that name ("topk
/// ratio=0.01"). Two specs never get the same label. Rules keep their whole text.
std::vector<std::string> short_labels(const std::vector<std::string>& specs);

/// The collective and bucketing of one compressor's points (Axes::collective, Axes::bucketing).
struct Way {
  std::string collective, bucketing;
};

/// Returns labels for distinct ways, in the same order. If the collectives differ, a label has the
/// collective, without a common prefix such as "allgather-". A label also has those options of the
/// bucketing that other bucketings lack. The label is "" if there is only one way, and for the way
/// without bucketing options if all collectives are equal.
std::vector<std::string> way_labels(const std::vector<Way>& ways);

// Escapes: records are outside input, and their contents are text, never markup. escape_html() is
// in base/escape.h.

/// Escapes one line of Markdown with embedded HTML: entities, and backslashes before punctuation
/// with a meaning. Line ends become spaces.
std::string escape_markdown(std::string_view text);

/// Escapes one cell of comma-separated values (RFC 4180): quotes it where a reader would split it.
std::string escape_csv(const std::string& text);

/// Replaces every `from`, which is not empty, by `to`.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t place = text.find(from); place != std::string::npos;
       place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
}

}  // namespace thinpipe
