#include "reports/reproduction/origins.h"

#include <fmt/format.h>

#include <algorithm>

namespace thinpipe {
namespace {

void add_once(std::vector<std::string>& lines, std::string line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

std::string origin_of(const std::string& created, const nlohmann::json& fingerprint) {
  const auto text = [&](const char* field) {
    const auto found = fingerprint.find(field);
    if (found == fingerprint.end()) return std::string("unknown");
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  return fmt::format("{}: {}, {} cores, {}, thinpipe {} ({}), {}", created.substr(0, 10),
                     text("cpu"), text("cores"), text("kernel"), text("thinpipe"), text("git"),
                     text("compiler"));
}

}  // namespace

std::vector<std::string> origins_of(const Reproduction& reproduction) {
  std::vector<std::string> lines;
  for (const ArmRecords& arm : reproduction.arms) {
    for (const Header& header : arm.records.headers)
      add_once(lines, origin_of(header.created, header.fingerprint));
    if (arm.stats)
      for (const Header& header : arm.stats->origin.headers)
        add_once(lines, origin_of(header.created, header.fingerprint));
    // Of what printed JSON, records made before it said where are silent.
    if (arm.printed.is_object() && arm.printed.contains("created") &&
        arm.printed.at("created").is_string() && arm.printed.contains("fingerprint"))
      add_once(lines, origin_of(arm.printed.at("created").get<std::string>(),
                                arm.printed.at("fingerprint")));
  }
  if (lines.empty()) lines.push_back("nothing was recorded");
  return lines;
}

std::vector<std::string> complaints_of(const Reproduction& reproduction) {
  std::vector<std::string> lines;
  for (const ArmRecords& arm : reproduction.arms)
    if (!arm.failure.empty()) lines.push_back(arm.label + ": " + arm.failure);
  for (std::size_t r = 0; r < reproduction.cells.size(); ++r)
    for (const MeasuredCell& cell : reproduction.cells[r])
      for (const std::string& one : cell.complaints)
        add_once(lines, reproduction.plan.rows[r].label + ", " + one);
  return lines;
}

}  // namespace thinpipe
