// A link's report for programs.
#include <nlohmann/json.hpp>

#include "harness/commands/net_verify_output.h"
#include "netem/link_json.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

Json stream_json(const GoodputWay& way) {
  Json result = {{"goodput", way.figures.goodput}, {"low", way.figures.low},
                 {"high", way.figures.high},       {"ceiling", nullptr},
                 {"deviation", nullptr},           {"acks_per_second", way.figures.acks},
                 {"payload", way.figures.payload}, {"wire_ratio", nullptr}};
  if (way.ceiling > 0) {
    result["ceiling"] = way.ceiling;
    result["deviation"] = way.deviation();
  }
  if (way.wire_ratio > 0) result["wire_ratio"] = way.wire_ratio;
  return result;
}

Json goodput_json(const GoodputReport& found) {
  Json result = {{"there", stream_json(found.there)},
                 {"back", stream_json(found.back)},
                 {"both_there", stream_json(found.both_there)},
                 {"both_back", stream_json(found.both_back)},
                 {"up", nullptr},
                 {"down", nullptr}};
  if (found.up) result["up"] = stream_json(*found.up);
  if (found.down) result["down"] = stream_json(*found.down);
  return result;
}

Json trips_json(const RoundTrips& found) {
  Json result = {{"median", nullptr},
                 {"p95", nullptr},
                 {"most", nullptr},
                 {"sent", found.sent},
                 {"lost", found.lost}};
  if (found.sent > found.lost) {
    result["median"] = found.median;
    result["p95"] = found.p95;
    result["most"] = found.most;
  }
  return result;
}

Json round_trip_json(const RoundTripReport& found) {
  return {{"set", found.set},
          {"idle", trips_json(found.idle)},
          {"beside_stream", trips_json(found.beside_stream)},
          {"full_queue", found.full ? trips_json(*found.full) : Json()},
          {"queue_wait", found.full ? Json(found.wait.seconds) : Json()}};
}

Json loss_way_json(const LossWay& way) {
  return {{"sent", way.figures.sent},          {"lost", way.figures.lost},
          {"share", way.figures.share()},      {"low", way.interval.low},
          {"high", way.interval.high},         {"duplicates", way.figures.duplicates},
          {"overtaken", way.figures.overtaken}};
}

Json loss_json(const LossReport& found) {
  return {{"expected", found.expected},
          {"confidence", kLossConfidence},
          {"there", loss_way_json(found.there)},
          {"back", loss_way_json(found.back)}};
}

Json burst_json(const BurstReport& found) {
  const auto way = [](const BurstFigures& one) -> Json {
    return {{"credit", one.credit}, {"low", one.low}, {"high", one.high}, {"frame", one.frame}};
  };
  return {
      {"expected", found.there.expected}, {"there", way(found.there)}, {"back", way(found.back)}};
}

Json change_json(const ChangeFigures& found) {
  return {{"median", found.changes > found.unseen ? Json(found.median) : Json()},
          {"most", found.changes > found.unseen ? Json(found.most) : Json()},
          {"changes", found.changes},
          {"unseen", found.unseen},
          {"sent", found.sent},
          {"lost", found.lost}};
}

Json figure_json(const ToolFigure& figure) {
  return {{"tool", figure.tool},
          {"value", figure.value ? Json(*figure.value) : Json()},
          {"trouble", figure.trouble.empty() ? Json() : Json(figure.trouble)}};
}

Json tools_json(const ToolReport& found) {
  return {{"goodput_there", figure_json(found.there)},
          {"goodput_back", figure_json(found.back)},
          {"round_trip", figure_json(found.round_trip)}};
}

}  // namespace

Json link_report_json(const LinkReport& report, const LinkVerdict& verdict) {
  const std::optional<bool> holds = verdict.holds();
  return {{"link", report.link.to_string()},
          {"spec", link_json(report.link)},
          {"holds", holds ? Json(*holds) : Json()},
          {"valid", verdict.valid()},
          {"reasons", verdict.reasons},
          {"disturbed", verdict.disturbed},
          {"warnings", verdict.warnings},
          {"checked", verdict.passed},
          {"not_measured", report.not_measured},
          {"goodput", report.goodput ? goodput_json(*report.goodput) : Json()},
          {"round_trip", report.round_trip ? round_trip_json(*report.round_trip) : Json()},
          {"loss", report.loss ? loss_json(*report.loss) : Json()},
          {"burst_credit", report.burst ? burst_json(*report.burst) : Json()},
          {"change_latency", report.change ? change_json(*report.change) : Json()},
          {"tools", report.tools ? tools_json(*report.tools) : Json()},
          {"seconds", report.seconds},
          {"units",
           {{"goodput", "bit/s; payload: bytes"},
            {"round_trip", "s"},
            {"loss", "datagrams; shares from 0 to 1"},
            {"burst_credit", "bytes"},
            {"change_latency", "s; sent and lost: datagrams"},
            {"tools", "bit/s; round_trip: s"},
            {"seconds", "s"}}}};
}

}  // namespace thinpipe
