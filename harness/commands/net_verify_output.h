// Output of `thinpipe net verify` for a link: as text, as JSON and as a row of a Markdown table.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "netem/verify/judge.h"

namespace thinpipe {

/// Cause and remedy for a machine that was too busy for a verdict.
inline constexpr const char* kBusyAdvice =
    "The host rather than the link may have set the pace. Stop other programs, or use a slower "
    "link, and measure again.";

/// Returns the exit code: kExitFailed if a valid measurement failed, else kExitInconclusive if some
/// measurement was invalid, else 0.
int verification_code(bool holds, bool valid);

/// Returns text of at most 80 columns, apart from the link's spec.
std::string link_report_text(const LinkReport& report, const LinkVerdict& verdict);

/// Returns JSON with rates in bit/s, times in s, sizes in bytes and fractions from 0 to 1. Its
/// member "units" has the units.
nlohmann::ordered_json link_report_json(const LinkReport& report, const LinkVerdict& verdict);

struct JudgedLink {
  LinkReport report;
  LinkVerdict verdict;
};

/// Returns the summary of all links, at most 80 columns wide: a table for more than one link, and
/// one or two sentences.
std::string links_summary(const std::vector<JudgedLink>& links);

/// Returns a Markdown table: two lines of heading, and a row for each link.
std::string link_table_head();
std::string link_table_row(const LinkReport& report, const LinkVerdict& verdict);

}  // namespace thinpipe
