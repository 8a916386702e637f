#include "reports/text/critical_path.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/text/units.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// Less is what a machine's ranks differ by that all have the same to do.
constexpr double kToldWait = 0.05;
// Links that all carry the same differ by what a ring's ends send less.
constexpr double kToldBusier = 1.2;
// As many times the others' payload; selections of one target differ by less.
constexpr double kToldLonger = 1.2;
// Of the steps' time: of less, a faster link would not change much.
constexpr double kToldExchange = 0.2;

double number(const json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) ? value : 0;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& list(const json& object, const char* key) {
  static const json nothing = json::array();
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : nothing;
}

std::string link_words(const std::string& name) {
  if (name.rfind("host", 0) == 0 && name.find('-') == std::string::npos)
    return "host " + name.substr(4) + "'s link";
  return "the link " + name;
}

}  // namespace

PathFinding path_finding(const json& record) {
  PathFinding finding;
  for (const json& wait : list(record, "waits")) {
    if (!wait.is_object()) continue;
    const std::string phase = text(wait, "phase");
    const double share = number(wait, "share");
    if (phase.empty() || phase == "start" || phase == "other") continue;
    if (share < kToldWait || share <= finding.waited || share > 1) continue;
    finding.waited = share;
    finding.whom =
        "host " + std::to_string(static_cast<long long>(number(wait, "host"))) + "'s " + phase;
  }
  for (const json& piece : list(record, "pieces"))
    if (piece.is_object() && text(piece, "phase") == "exchange")
      finding.exchange += number(piece, "share");
  if (record.is_object() && record.contains("link") && record["link"].is_object()) {
    const json& link = record["link"];
    const std::string name = text(link, "name");
    if (!name.empty() && finding.exchange >= kToldExchange &&
        number(link, "busy") >= kToldBusier * number(link, "others"))
      finding.link = link_words(name);
  }
  if (record.is_object() && record.contains("payload") && finding.exchange >= kToldExchange)
    if (const double times = number(record["payload"], "times"); times >= kToldLonger) {
      finding.sender =
          "host " + std::to_string(static_cast<long long>(number(record["payload"], "host")));
      finding.times = times;
    }
  return finding;
}

std::map<int, double> waited_by_host(const nlohmann::json& record) {
  constexpr double kMostHosts = 1 << 20;
  std::map<int, double> waits;
  for (const json& wait : list(record, "waits")) {
    if (!wait.is_object() || text(wait, "phase") == "start") continue;
    const double host = number(wait, "host"), share = number(wait, "share");
    if (host < 0 || host > kMostHosts || share <= 0 || share > 1) continue;
    waits[static_cast<int>(host)] += share;
  }
  return waits;
}

std::string path_phrase(const PathFinding& finding) {
  std::string phrase;
  if (finding.waited > 0)
    phrase = format_percent(finding.waited) + " of it waiting for " + finding.whom;
  if (!finding.link.empty())
    phrase += (phrase.empty() ? "" : ", ") + ("exchanges at the pace of " + finding.link);
  if (!finding.sender.empty())
    phrase += (phrase.empty() ? "" : ", ") + finding.sender + "'s payload " +
              format_number(finding.times) + " times the others'";
  return phrase;
}

}  // namespace thinpipe
