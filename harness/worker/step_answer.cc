#include "harness/worker/step_answer.h"

#include <nlohmann/json.hpp>
#include <string>

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr bool kPerRank = true;

constexpr StepField kFields[] = {
    {"compute", &StepReport::compute, kPerRank, &"compute_time"_metric, OverRanks::kMinWaiting},
    {"wanted", &StepReport::wanted, kPerRank, &"ideal_time"_metric, OverRanks::kMax},
    {"late", &StepReport::late},
    {"compress", &StepReport::compress, kPerRank, &"compress_time"_metric, OverRanks::kMinWaiting},
    {"compress_cpu", &StepReport::compress_cpu, false, &"compress_cpu_time"_metric,
     OverRanks::kMinWaiting},
    {"exchange", &StepReport::exchange, kPerRank, &"exchange_time"_metric, OverRanks::kMinWaiting},
    {"decode", &StepReport::decode, kPerRank, &"decode_time"_metric, OverRanks::kMinWaiting},
    {"copy_down", &StepReport::copy_down, false, &"copy_down_time"_metric, OverRanks::kMinWaiting,
     StepField::There::kOnDevice},
    {"copy_up", &StepReport::copy_up, false, &"copy_up_time"_metric, OverRanks::kMinWaiting,
     StepField::There::kOnDevice},
    {"total", &StepReport::total, kPerRank, &"step_time"_metric, OverRanks::kSlowest},
    {"exposed", &StepReport::exposed, false, &"exposed_time"_metric, OverRanks::kSlowest},
    {"link_idle", &StepReport::link_idle, false, &"link_idle_time"_metric, OverRanks::kSlowest},
    {"payload_bytes", &StepReport::payload_bytes, kPerRank, &"payload_bytes"_metric,
     OverRanks::kMean},
    {"pulled_bytes", &StepReport::pulled_bytes, false, &"pull_bytes"_metric, OverRanks::kMean,
     StepField::There::kIfAny},
    {"summed_bytes", &StepReport::summed_bytes},
    {"target", &StepReport::target, kPerRank},
    {"selected", &StepReport::selected, kPerRank},
    {"exchanged", &StepReport::exchanged},
    {"begun", &StepReport::begun},
    {"codec", &StepReport::codec},
    {"codec_decode", &StepReport::codec_decode},
    {"arrived", &StepReport::arrived},
    {"lag", &StepReport::lag},
    {"overrun", &StepReport::overrun},
};

Phase phase_named(const std::string& name) {
  for (const Phase phase : {Phase::kCompute, Phase::kCompress, Phase::kExchange})
    if (name == to_string(phase)) return phase;
  return Phase::kDecode;
}

json of_rank(const RankStep& step) {
  return {{"type", "stepped"},
          {"processors_idle", step.processors.idle},
          {"processors_all", step.processors.all},
          {"sent_messages", step.sent.messages},
          {"sent_bytes", step.sent.bytes},
          {"sent_frames", step.sent.frames}};
}

void read_rank(const json& message, RankStep& step) {
  step.processors = {message.at("processors_idle"), message.at("processors_all")};
  step.sent = {message.at("sent_messages"), message.at("sent_bytes"), message.at("sent_frames")};
}

WorkerStep worker_step(const json& message) {
  WorkerStep step;
  read_rank(message, step);
  for (const StepField& field : kFields)
    std::visit([&](auto member) { message.at(field.name).get_to(step.*member); }, field.member);
  for (const json& span : message.at("timeline"))
    step.timeline.push_back({phase_named(span.at(0)), span.at(1), span.at(2), span.at(3)});
  return step;
}

ServerStep server_step(const json& message) {
  ServerStep step;
  read_rank(message, step);
  message.at("total").get_to(step.total);
  message.at("decode").get_to(step.decode);
  message.at("compress").get_to(step.compress);
  message.at("push_bytes").get_to(step.push_bytes);
  message.at("pull_bytes").get_to(step.pull_bytes);
  for (const json& one : message.at("served"))
    step.served.push_back({one.at(0), {one.at(1), one.at(2), one.at(3), one.at(4)}});
  return step;
}

}  // namespace

std::span<const StepField> step_fields() { return kFields; }

json stepped(const WorkerStep& step) {
  json message = of_rank(step);
  for (const StepField& field : kFields)
    std::visit([&](auto member) { message[field.name] = step.*member; }, field.member);
  json& spans = message["timeline"] = json::array();
  for (const PhaseSpan& span : step.timeline)
    spans.push_back({to_string(span.phase), span.bucket, span.begin, span.end});
  return message;
}

json stepped(const ServerStep& step) {
  json message = of_rank(step);
  message["total"] = step.total;
  message["decode"] = step.decode;
  message["compress"] = step.compress;
  message["push_bytes"] = step.push_bytes;
  message["pull_bytes"] = step.pull_bytes;
  json& served = message["served"] = json::array();
  for (const auto& [bucket, unit] : step.served)
    served.push_back({bucket, unit.last, unit.arrived, unit.averaged, unit.answered});
  return message;
}

StepAnswers step_answers(const std::vector<json>& messages, int workers) {
  StepAnswers answers;
  for (std::size_t rank = 0; rank < messages.size(); ++rank)
    if (rank < static_cast<std::size_t>(workers))
      answers.workers.push_back(worker_step(messages[rank]));
    else
      answers.servers.push_back(server_step(messages[rank]));
  return answers;
}

json per_rank(const std::vector<StepAnswers>& steps) {
  json ranks = json::array();
  for (std::size_t rank = 0; rank < steps.at(0).workers.size(); ++rank) {
    json columns;
    for (const StepField& field : kFields) {
      if (!field.per_rank) continue;
      json& column = columns[field.name] = json::array();
      for (const StepAnswers& step : steps)
        std::visit([&](auto member) { column.push_back(step.workers[rank].*member); },
                   field.member);
    }
    ranks.push_back(std::move(columns));
  }
  return ranks;
}

}  // namespace thinpipe
