// Conversions from the typed view to JSON, and queries on the typed view.
#include "reports/record/record.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace thinpipe {
namespace {

// Returns the objects of a list; empty for anything else.
std::vector<nlohmann::json> objects_of(const nlohmann::json& object, const char* key) {
  std::vector<nlohmann::json> objects;
  if (!object.contains(key) || !object[key].is_array()) return objects;
  for (const nlohmann::json& one : object[key])
    if (one.is_object()) objects.push_back(one);
  return objects;
}

std::optional<CalibratedWay> way_of(const nlohmann::json& object) {
  const auto ceiling = number_in(object, "ceiling"), goodput = number_in(object, "goodput"),
             ratio = number_in(object, "ratio");
  if (!ceiling || !goodput || !ratio) return std::nullopt;
  return CalibratedWay{
      text_in(object, "where"),       text_in(object, "set"), *ceiling, *goodput, *ratio,
      number_in(object, "round_trip")};
}

constexpr std::pair<const char*, std::optional<double> Fidelity::*> kFigures[] = {
    {"goodput_ratio", &Fidelity::goodput_ratio},
    {"wire_bytes_predicted", &Fidelity::wire_bytes_predicted},
    {"wire_bytes_most", &Fidelity::wire_bytes_most},
    {"wire_ratio", &Fidelity::wire_ratio},
    {"idle_cpu", &Fidelity::idle_cpu},
    {"burst_bytes", &Fidelity::burst_bytes},
    {"burst_seconds", &Fidelity::burst_seconds}};

constexpr std::pair<const char*, std::vector<double> Fidelity::*> kByRank[] = {
    {"wire_bytes_by_rank", &Fidelity::wire_bytes_by_rank},
    {"tcp_segments_by_rank", &Fidelity::tcp_segments_by_rank},
    {"tcp_retransmitted_by_rank", &Fidelity::tcp_retransmitted_by_rank}};

constexpr const char* kMachine[] = {"cpu",          "cores",
                                    "smt",          "turbo",
                                    "governor",     "l1d_bytes",
                                    "l2_bytes",     "l3_bytes",
                                    "memory_bytes", "cpu_limit",
                                    "kernel",       "architecture",
                                    "hz",           "memory_limit_bytes",
                                    "gpu"};
constexpr const char* kBuild[] = {"compiler", "flags",      "thinpipe",           "git",
                                  "mpi",      "transports", "congestion_control", "sysctls",
                                  "qdiscs",   "environment"};

void add_differences(const nlohmann::json& one, const nlohmann::json& other,
                     std::span<const char* const> keys, std::vector<std::string>& differences) {
  for (const char* key : keys) {
    const auto a = one.find(key), b = other.find(key);
    if (a != one.end() && b != other.end()) add_difference(key, *a, *b, differences);
  }
}

void add_document(const char* name, const Document& document, nlohmann::json& json) {
  if (!document.empty()) json[name] = *document;
}

nlohmann::json axes_json(const Point& point) {
  const Axes& axes = point.axes;
  if (const auto& bench = point.bench)
    return {{"compressor", axes.compressor},
            {"method", axes.method},
            {"ratio", bench->ratio ? nlohmann::json(*bench->ratio) : nlohmann::json(nullptr)},
            {"tensor", bench->tensor},
            {"elements", static_cast<std::uint64_t>(bench->elements)},
            {"threads", bench->threads},
            {"simd", bench->simd},
            {"device", bench->device},
            {"residency", bench->residency}};
  if (const auto& quality = point.quality)
    return {{"compressor", axes.compressor},
            {"method", axes.method},
            {"tensor", quality->tensor},
            {"elements", static_cast<std::uint64_t>(quality->elements)}};
  nlohmann::json json = {{"compressor", axes.compressor},
                         {"method", axes.method},
                         {"link", axes.link},
                         {"rate", axes.rate},
                         {"delay", axes.delay},
                         {"ranks", axes.ranks},
                         {"repeat", axes.repeat},
                         {"topology", axes.topology},
                         {"time_scale", axes.time_scale},
                         {"collective", axes.collective},
                         {"bucketing", axes.bucketing}};
  if (axes.stragglers != "none") json["stragglers"] = axes.stragglers;
  if (axes.device != "cpu") json["device"] = axes.device;
  if (axes.engine != kEmulationEngine) json["engine"] = axes.engine;
  if (axes.seed > 0) json["seed"] = axes.seed;
  return json;
}

nlohmann::json timeline_json(const Point& point) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankTimeline& rank : point.timeline) {
    nlohmann::json& spans = ranks.emplace_back(nlohmann::json::array());
    for (const PhaseOfStep& span : rank)
      spans.push_back({span.phase, span.bucket, span.begin, span.end});
  }
  return {{"step", point.timeline_step}, {"ranks", ranks}};
}

}  // namespace

std::string text_in(const nlohmann::json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_in(const nlohmann::json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Document::Document() {
  static const auto kEmpty = std::make_shared<const nlohmann::json>(nlohmann::json::object());
  json_ = kEmpty;
}

Document::Document(nlohmann::json object)
    : json_(std::make_shared<const nlohmann::json>(std::move(object))) {}

bool Document::empty() const { return json_->empty(); }

const char* status_name(Status status) {
  constexpr const char* kNames[] = {"ok", "invalid", "failed"};
  return kNames[static_cast<std::size_t>(status)];
}

bool Axes::answers_compressed() const {
  for (const std::string_view key : {"pull=", "second="}) {
    const std::size_t at = collective.find(key);
    if (at == std::string::npos) continue;
    const std::string_view value = std::string_view(collective).substr(at + key.size());
    if (!value.starts_with("none") && !value.starts_with("same")) return true;
  }
  return false;
}

std::optional<Baseline> Axes::baseline() const {
  if (bucketing.find("local_steps=") != std::string::npos) return std::nullopt;
  if (collective.find("-qgz") != std::string::npos) return std::nullopt;  // 4-bit sums
  if (answers_compressed()) return std::nullopt;
  if (method == "none") return Baseline::kFp32;
  if (method == "bf16" && !collective.starts_with("allgather-")) return Baseline::kBf16;
  return std::nullopt;
}

std::vector<double> Point::samples(const MetricType& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? std::vector<double>() : found->second.finite_samples();
}

const std::string& Records::kind() const {
  static const std::string kRun = kRunKind;
  return headers.empty() ? kRun : headers.back().kind;
}

std::set<std::string> Records::finished_ids() const {
  std::set<std::string> ids;
  for (const Point& point : points) {
    if (point.status == Status::kFailed && !point.diverged) continue;
    ids.insert(point.id);
    if (!point.normal_id.empty()) ids.insert(point.normal_id);
  }
  return ids;
}

const std::string& PointNames::of(const std::string& id, const std::string& normal_id) {
  auto known = names_.find(id);
  if (known == names_.end() && !normal_id.empty()) known = names_.find(normal_id);
  const std::string& name = known == names_.end() ? id : known->second;
  if (!normal_id.empty()) names_.try_emplace(normal_id, name);
  return names_.try_emplace(id, name).first->second;
}

nlohmann::json header_json(const Header& header) {
  nlohmann::json json = {{"record", "header"},
                         {"version", header.version},
                         {"kind", header.kind},
                         {"created", header.created},
                         {"command", header.command},
                         {"seed", header.seed},
                         {"threads", header.threads},
                         {"simd", header.simd},
                         {"fingerprint", *header.fingerprint}};
  add_document("trace", header.trace, json);
  add_document("settings", header.settings, json);
  add_document("calibration", header.calibration, json);
  add_document("training", header.training, json);
  add_document("machines", header.machines, json);
  add_document("device", header.device, json);
  if (!header.rank_devices.empty()) json["rank_devices"] = header.rank_devices;
  if (header.mpi_takes_device_addresses)
    json["mpi_takes_device_addresses"] = *header.mpi_takes_device_addresses;
  return json;
}

nlohmann::json metric_json(const Metric& metric) {
  nlohmann::json json = {{"unit", metric.unit},
                         {"better", metric.better},
                         {"kind", metric.kind},
                         {"samples", metric.samples}};
  const auto missing = std::count_if(metric.samples.begin(), metric.samples.end(),
                                     [](double sample) { return !std::isfinite(sample); });
  if (missing > 0)
    json["missing"] = std::to_string(missing) + " of " + std::to_string(metric.samples.size()) +
                      " samples were not finite numbers";
  return json;
}

nlohmann::json metrics_json(const Metrics& metrics) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, metric] : metrics) json[name] = metric_json(metric);
  return json;
}

nlohmann::json fidelity_json(const Fidelity& fidelity) {
  nlohmann::json json = {{"drops", fidelity.drops}};
  for (const auto& [name, figure] : kFigures)
    json[name] = fidelity.*figure ? nlohmann::json(*(fidelity.*figure)) : nlohmann::json(nullptr);
  for (const auto& [name, figures] : kByRank)
    if (!(fidelity.*figures).empty()) json[name] = fidelity.*figures;
  if (fidelity.shared_machine) json["shared_machine"] = true;
  return json;
}

Fidelity parse_fidelity(const nlohmann::json& object) {
  Fidelity fidelity;
  for (const auto& [name, figure] : kFigures) fidelity.*figure = number_in(object, name);
  if (const auto drops = object.find("drops"); drops != object.end() && drops->is_number_unsigned())
    fidelity.drops = drops->get<std::uint64_t>();
  const auto shared = object.find("shared_machine");
  fidelity.shared_machine = shared != object.end() && *shared == true;
  for (const auto& [name, figures] : kByRank)
    if (const auto found = object.find(name); found != object.end())
      for (const nlohmann::json& figure : *found)
        if (figure.is_number()) (fidelity.*figures).push_back(figure);
  return fidelity;
}

nlohmann::json point_json(const Point& point) {
  nlohmann::json json = {{"record", "point"},
                         {"id", point.id},
                         {"axes", axes_json(point)},
                         {"status", status_name(point.status)},
                         {"reasons", point.reasons}};
  if (!point.normal_id.empty() && point.normal_id != point.id) json["normal_id"] = point.normal_id;
  if (point.diverged) json["diverged"] = true;
  if (!point.started.empty()) json["started"] = point.started;
  if (point.at) json["at"] = {{"step", point.at->step}, {"rank", point.at->rank}};
  json.update(*point.details);
  if (point.status != Status::kFailed || !point.metrics.empty())
    json["metrics"] = metrics_json(point.metrics);
  if (point.fidelity) json["fidelity"] = fidelity_json(*point.fidelity);
  if (!point.timeline.empty()) json["timeline"] = timeline_json(point);
  add_document("validation", point.validation, json);
  add_document("prediction", point.prediction, json);
  add_document("critical_path", point.critical_path, json);
  add_document("training", point.training, json);
  return json;
}

const CalibratedWay* CalibratedLinkRecord::farthest() const {
  const auto found = std::ranges::max_element(
      ways, {}, [](const CalibratedWay& way) { return std::fabs(way.ratio - 1); });
  return found == ways.end() ? nullptr : &*found;
}

std::vector<CalibratedLinkRecord> calibrated_links(const Records& records) {
  std::vector<CalibratedLinkRecord> links;
  for (std::size_t launch = 0; launch < records.headers.size(); ++launch)
    for (const nlohmann::json& object : objects_of(records.headers[launch].calibration, "links")) {
      CalibratedLinkRecord link{launch, text_in(object, "link"),
                                number_in(object, "machines").value_or(0),
                                text_in(object, "verdict"), text_in(object, "reason")};
      if (link.link.empty() || link.verdict.empty()) continue;
      for (const nlohmann::json& one : objects_of(object, "ways"))
        if (std::optional<CalibratedWay> way = way_of(one)) link.ways.push_back(std::move(*way));
      links.push_back(std::move(link));
    }
  return links;
}

void add_difference(const std::string& name, const nlohmann::json& one, const nlohmann::json& other,
                    std::vector<std::string>& differences) {
  if (one != other) differences.push_back(name + ": " + one.dump() + " against " + other.dump());
}

std::vector<std::string> machine_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<std::string> differences;
  add_differences(one, other, kMachine, differences);
  return differences;
}

std::vector<std::string> setting_differences(const nlohmann::json& one,
                                             const nlohmann::json& other) {
  std::vector<std::string> differences = machine_differences(one, other);
  add_differences(one, other, kBuild, differences);
  return differences;
}

}  // namespace thinpipe
