// Output of `thinpipe net verify` on a link: for people, for programs, as a row of a table.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "netem/verify/judge.h"

namespace thinpipe {

/// The remedy for a machine that was too busy to tell, for people.
inline constexpr const char* kBusyAdvice =
    "The host rather than the link may have set the pace. Stop other programs, or use a slower "
    "link, and measure again.";

/// Exit code when a valid measurement says that something does not hold, else when some measurement
/// was not valid, else 0.
int verification_code(bool holds, bool valid);

/// At most 80 columns, but for the link's own text.
std::string link_report_text(const LinkReport& report, const LinkVerdict& verdict);

/// Rates in bit/s, times in s, sizes in bytes, shares from 0 to 1; its "units" say so.
nlohmann::ordered_json link_report_json(const LinkReport& report, const LinkVerdict& verdict);

struct JudgedLink {
  LinkReport report;
  LinkVerdict verdict;
};

/// Summary below all links: a table where there are several, and the result in a sentence or two.
/// At most 80 columns.
std::string links_summary(const std::vector<JudgedLink>& links);

/// Markdown: two lines of heading, and a row for each link.
std::string link_table_head();
std::string link_table_row(const LinkReport& report, const LinkVerdict& verdict);

}  // namespace thinpipe
