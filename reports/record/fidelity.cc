#include "reports/record/fidelity.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "reports/record/document.h"

namespace thinpipe {
namespace {

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

}  // namespace

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
  const Document document(object);
  Fidelity fidelity;
  for (const auto& [name, figure] : kFigures) fidelity.*figure = document.number(name);
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

}  // namespace thinpipe
