// What came of several links, for a person to repeat.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "harness/commands/net_verify_output.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

const char* word_of(const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  if (!holds) return verdict.valid() ? "not judged" : "NOT VALID";
  return *holds ? "holds" : "DOES NOT HOLD";
}

std::string goodput_of(const JudgedLink& link, GoodputWay GoodputReport::*way) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  return found ? format_rate(((*found).*way).figures.goodput) : "-";
}

std::string slower_goodput_of(const JudgedLink& link) {
  const GoodputReport& found = *link.report.goodput;
  return format_rate(std::min(found.there.figures.goodput, found.back.figures.goodput));
}

// Of the four goodputs the farthest off, signed; none without a ceiling to hold them against.
std::optional<double> farthest_off(const JudgedLink& link) {
  const std::optional<GoodputReport>& found = link.report.goodput;
  if (!found || link.report.link.disturbs()) return std::nullopt;
  std::optional<double> most;
  for (const GoodputWay* way : {&found->there, &found->back, &found->both_there, &found->both_back})
    if (way->ceiling > 0 && link.report.disturbed.count(Measure::kGoodput) == 0 &&
        (!most || std::fabs(way->deviation()) > std::fabs(*most)))
      most = way->deviation();
  return most;
}

std::string table_of(const std::vector<JudgedLink>& links) {
  PlainTable table({"link", "goodput\nthere", "goodput\nback", "farthest\noff", "round trip\nidle",
                    "\nverdict"});
  for (const JudgedLink& link : links) {
    const std::optional<double> off = farthest_off(link);
    const std::optional<RoundTripReport>& trips = link.report.round_trip;
    table.add({link.report.link.to_string(), goodput_of(link, &GoodputReport::there),
               goodput_of(link, &GoodputReport::back),
               off ? fmt::format("{:+.2f} %", 100 * *off) : "-",
               trips ? format_time(trips->idle.median) : "-", word_of(link.verdict)});
  }
  return table.text();
}

std::string count_of(std::size_t count, std::size_t all) {
  if (all == 1) return "The link";
  if (count == all) return fmt::format("All {} links", all);
  return fmt::format("{} of {} links", count, all);
}

std::string how_many_hold(const std::vector<JudgedLink>& links) {
  std::size_t good = 0, bad = 0;
  const JudgedLink* first_bad = nullptr;
  for (const JudgedLink& link : links) {
    const std::optional<bool> holds = link.verdict.holds();
    good += holds == true;
    bad += holds == false;
    if (holds == false && first_bad == nullptr) first_bad = &link;
  }
  if (first_bad != nullptr)
    return fmt::format("{} {} not hold{}: {}.", count_of(bad, links.size()),
                       bad == 1 || links.size() == 1 ? "does" : "do",
                       links.size() == 1 ? "" : "; " + first_bad->report.link.to_string(),
                       first_bad->verdict.reasons.front());
  if (good == 0 && std::any_of(links.begin(), links.end(),
                               [](const JudgedLink& link) { return !link.verdict.valid(); }))
    return "";
  if (good == 0)
    return links.size() == 1 && !links[0].report.link.throttled() && links[0].report.goodput
               ? fmt::format("There is no rate to hold; the machine carries {} between two hosts.",
                             slower_goodput_of(links[0]))
               : "Nothing that was measured can be held against what was set.";
  return fmt::format("{} {}.", count_of(good, links.size()), good == 1 ? "holds" : "hold");
}

std::string how_many_are_invalid(const std::vector<JudgedLink>& links) {
  const auto is_invalid = [](const JudgedLink& link) { return !link.verdict.valid(); };
  const auto first = std::find_if(links.begin(), links.end(), is_invalid);
  if (first == links.end()) return "";
  return fmt::format("The machine was too busy to judge {}: {}. {}",
                     links.size() == 1 ? "the link"
                                       : fmt::format("{} of {} links; {}",
                                                     std::count_if(first, links.end(), is_invalid),
                                                     links.size(), first->report.link.to_string()),
                     first->verdict.disturbed.front(), kBusyAdvice);
}

std::string how_far_off(const std::vector<JudgedLink>& links) {
  const JudgedLink* worst = nullptr;
  double most = 0;
  for (const JudgedLink& link : links)
    if (const std::optional<double> off = farthest_off(link);
        off && (worst == nullptr || std::fabs(*off) > std::fabs(most))) {
      worst = &link;
      most = *off;
    }
  if (worst == nullptr) return "";
  return fmt::format("Goodput is at most {:.2f} % off what TCP can deliver{}.",
                     100 * std::fabs(most),
                     links.size() > 1 ? " (" + worst->report.link.to_string() + ")" : "");
}

}  // namespace

std::string links_summary(const std::vector<JudgedLink>& links) {
  std::string sentences;
  for (const std::string& one :
       {how_many_are_invalid(links), how_many_hold(links), how_far_off(links)})
    if (!one.empty()) sentences += (sentences.empty() ? "" : " ") + one;
  return "\n" + (links.size() > 1 ? table_of(links) + "\n" : "") + wrap(sentences, 0) + "\n";
}

int verification_code(bool holds, bool valid) {
  if (!holds) return kExitFailed;
  return valid ? kExitGood : kExitInconclusive;
}

}  // namespace thinpipe
