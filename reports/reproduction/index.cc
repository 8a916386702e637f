#include "reports/reproduction/index.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/input_file.h"
#include "base/output_file.h"
#include "reports/markdown/parts.h"
#include "reports/reproduction/words.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

using nlohmann::json;

std::string last_day(const Reproduction& reproduction) {
  std::string last;
  const auto look_at = [&](const std::vector<Header>& headers) {
    for (const Header& header : headers) last = std::max(last, header.created.substr(0, 10));
  };
  for (const ArmRecords& arm : reproduction.arms) {
    look_at(arm.records.headers);
    if (arm.stats) look_at(arm.stats->origin.headers);
    if (const auto created = arm.printed.find("created");
        created != arm.printed.end() && created->is_string())
      last = std::max(last, created->get<std::string>().substr(0, 10));
  }
  return last;
}

}  // namespace

ReproductionOutcome outcome_of(const Reproduction& reproduction) {
  return {.name = reproduction.plan.name,
          .title = reproduction.plan.title,
          .outcome = outcome_words(reproduction.findings),
          .date = last_day(reproduction),
          .quick = reproduction.quick,
          .complete = reproduction.complete()};
}

void write_outcome(const std::filesystem::path& file, const ReproductionOutcome& outcome) {
  const json object = {{"name", outcome.name}, {"title", outcome.title},
                       {"outcome", outcome.outcome}, {"date", outcome.date},
                       {"quick", outcome.quick}, {"complete", outcome.complete}};
  write_output(file, object.dump(1) + "\n");
}

std::optional<ReproductionOutcome> read_outcome(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  constexpr std::uint64_t kMaxBytes = 1 << 16;  // six short members
  const json object = json::parse(read_input(file, "a recipe's outcome", kMaxBytes), nullptr,
                                  /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  try {
    return ReproductionOutcome{.name = object.value("name", ""),
                               .title = object.value("title", ""),
                               .outcome = object.value("outcome", ""),
                               .date = object.value("date", ""),
                               .quick = object.value("quick", false),
                               .complete = object.value("complete", true)};
  } catch (const json::type_error&) {  // not what write_outcome() writes
    return std::nullopt;
  }
}

std::string reproduction_index(const std::vector<ReproductionOutcome>& outcomes) {
  std::string text =
      "# What the papers found, tried here\n\n"
      "Each page has the rules, which stood before it was measured, and the paper's figures "
      "beside those of this machine.\n\n| recipe | finding | rules | measured |\n| --- | --- | --- "
      "| --- |\n";
  for (const ReproductionOutcome& one : outcomes)
    text += fmt::format(
        "| [{0}]({0}.md) | {1} | {2}{3} | {4}{5} |\n", one.name, escape_markdown(one.title),
        one.outcome, one.complete ? "" : "; not complete",
        one.date.empty() ? std::string(kAbsent) : one.date, one.quick ? ", a quick try" : "");
  return text;
}

}  // namespace thinpipe
