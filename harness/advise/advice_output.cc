#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/plain_table.h"
#include "base/text.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "harness/advise/advice.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/terminal.h"
#include "reports/text/phrases.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

// Rows of each class's table.
constexpr std::size_t kClassRows = 3;

std::string times_cell(const std::optional<double>& times) {
  return times ? fmt::format("{:.2f}", *times) : "-";
}

// Returns the rates at which the compressor is faster than the baselines: "1.2 Gbit/s" is the
// highest.
std::string rates_cell(const PredictedBreakEven& result) {
  if (result.rate) return format_rate(*result.rate);
  return result.pays_at_least ? "all rates" : result.pays_at_most ? "high rates" : "no rate";
}

std::string error_cell(double error) { return format_percent(error); }

std::string network_words(const AdviceRequest& request) {
  std::string text = fmt::format("{} ranks, {}", request.sweep.ranks.front(),
                                 link_line(request.sweep.links.front()));
  if (!request.sweep.topology.is_star()) text += ", " + request.sweep.topology.to_string();
  return text;
}

std::string spec_table(const Advice& advice, bool bound) {
  std::vector<std::string> heads = {"compressor", "collective",    "step",  "vs\nbf16",
                                    "vs\nfp32",   "faster\nup to", "error", "k̂/k"};
  if (bound) heads.insert(heads.begin() + 3, "CPU\ncodec");
  PlainTable table(heads, 2);
  for (const SpecAdvice& spec : advice.specs) {
    std::vector<std::string> row = {
        spec.point.compressor.to_string(),
        spec.point.collective.to_string(),
        format_time(spec.step.prediction.step),
        times_cell(spec.step.over_bf16()),
        times_cell(spec.step.over_none()),
        spec.is_baseline ? "-" : rates_cell(spec.break_even),
        error_cell(spec.error),
        spec.estimation ? fmt::format("{:.2f}", *spec.estimation) : "-"};
    if (bound) row.insert(row.begin() + 3, spec.on_cpu ? format_time(*spec.on_cpu) : "-");
    table.add(std::move(row));
  }
  return table.text();
}

std::string class_tables(const Advice& advice) {
  std::string text;
  for (const ClassAdvice& one : advice.classes) {
    text += fmt::format("\n{} {} ({} elements), exchanged by themselves:\n", one.tensors,
                        to_string(one.tensor_class), format_number(one.elements));
    PlainTable table({"compressor", "collective", "time", "error"}, 2);
    for (std::size_t i = 0; i < std::min(kClassRows, one.rows.size()); ++i)
      table.add({one.rows[i].compressor, one.rows[i].collective, format_time(one.rows[i].seconds),
                 error_cell(one.rows[i].error)});
    text += table.text();
  }
  return text;
}

// Returns ", a step of 31 ms, 12 times as fast as bf16 ...; a rank sends 102 kB of 4.1 MB, and the
// decoded gradient is 87 % off".
std::string cost_words(const SpecAdvice& spec, const Trace& trace) {
  std::string text = fmt::format(
      "a step of {}, {}. A rank sends {} of {}, and what arrives differs from what was to be sent "
      "by {}",
      format_time(spec.step.prediction.step), speed_up_text(spec.step),
      format_bytes(spec.step.prediction.payload_bytes),
      format_bytes(static_cast<double>(trace.elements() * sizeof(float))), error_cell(spec.error));
  if (spec.estimation) text += fmt::format(" (k̂/k {:.2f})", *spec.estimation);
  text += ".";
  if (spec.point.collective.name == "twoshot" && spec.error > 0)
    text += " Two shots compress the mean once more, which adds to this error.";
  return text;
}

std::string trainings_text(const SpecAdvice& spec) {
  const std::string name = spec.point.compressor.to_string();
  if (spec.trainings.empty())
    return wrap(fmt::format("Trainings with {}: no recipe has it; its effect on learning is not "
                            "known here.",
                            name),
                0) +
           "\n";
  std::string text = fmt::format("Trainings with {}:\n", name);
  for (const TrainingResult& result : spec.trainings)
    text += "  " + wrap(to_string(result), 4, kColumns, false) + "\n";
  return text;
}

// Returns whether the hook exchanges the compressor's payloads in two shots.
bool hook_has_two_shots(const Spec& compressor) {
  const auto made = make_compressor(compressor, {"", {1}, 1}, {});
  return !made->incremental() && made->period() == 1;
}

// Returns the collective in the words of thinpipe.torch's hook; "" where the hook has none.
std::string hook_collective(const SweepPoint& point) {
  const Spec compressor = point.compressor.specs().front();
  // The hook needs a function of the job for second moments.
  if (find_method(compressor.name).needs_squares) return "";
  const Exchange exchange = exchange_of(point.collective, compressor);
  if (exchange == Exchange::kAllReduce) return "allreduce";
  if (exchange == Exchange::kAllGather) return "allgather";
  if (point.collective.name != "twoshot" || !hook_has_two_shots(compressor)) return "";
  const auto& values = point.collective.values;
  const auto second = values.find("second");
  if (values.contains("second-memory") ||
      (second != values.end() && !hook_has_two_shots(parse_spec(second->second))))
    return "";
  return "twoshot";
}

// Returns the line of Python that uses the compressor; "" where the hook has no such collective.
std::string hook_line(const SpecAdvice& spec, const Advice& advice) {
  const std::string collective = hook_collective(spec.point);
  if (collective.empty()) return "";
  std::string line = fmt::format("thinpipe.torch.ddp_hook(model, \"{}\", collective=\"{}\"",
                                 spec.point.compressor.to_string(), collective);
  const auto& values = spec.point.collective.values;
  if (const auto second = values.find("second"); second != values.end())
    line += fmt::format(", second=\"{}\"", second->second);
  if (advice.min_elements > 0) line += fmt::format(", min_elements={}", advice.min_elements);
  return line + ")";
}

std::vector<std::string> run_words(const std::vector<const SpecAdvice*>& chosen,
                                   const Advice& advice, const AdviceRequest& request) {
  std::vector<std::string> words = {"thinpipe", "run",
                                    "--trace",  request.sweep.trace.string(),
                                    "--ranks",  std::to_string(request.sweep.ranks.front()),
                                    "--link",   request.sweep.links.front().to_string()};
  if (!request.sweep.topology.is_star())
    words.insert(words.end(), {"--topology", request.sweep.topology.to_string()});
  std::vector<std::string> collectives;
  for (const SpecAdvice* spec : chosen) {
    words.insert(words.end(), {"-c", spec->point.compressor.to_string()});
    const std::string collective = spec->point.collective.to_string();
    if (std::ranges::find(collectives, collective) == collectives.end())
      collectives.push_back(collective);
  }
  words.insert(words.end(), {"--collective", joined(collectives, "|"), "--overlap", "bucket",
                             "--codec", "thread"});
  if (advice.min_elements > 0)
    words.insert(words.end(), {"--min-elements", std::to_string(advice.min_elements)});
  for (const std::filesystem::path& plugin : request.sweep.plugins)
    words.insert(words.end(), {"--plugin", plugin.string()});
  if (request.sweep.zero_non_finite) words.insert(words.end(), {"--non-finite", "zero"});
  if (request.sweep.threads != 1)
    words.insert(words.end(), {"--threads", std::to_string(request.sweep.threads)});
  if (request.sweep.seed != 1)
    words.insert(words.end(), {"--seed", std::to_string(request.sweep.seed)});
  words.insert(words.end(), {"--out", "out"});
  return words;
}

std::string sentences(const Advice& advice, const AdviceRequest& request, const Trace& trace) {
  const SpecAdvice* fastest = advice.fastest();
  const SpecAdvice* faithful = advice.fastest_within(request.max_error);
  const std::string little = fmt::format("an error of at most {}", error_cell(request.max_error));
  const std::string none_pays =
      fmt::format("should be {:.0f} % faster than the faster baseline", 100 * (kWorthSaying - 1));
  if (std::ranges::all_of(advice.specs, &SpecAdvice::is_baseline))
    return wrap(
               "No compressor was measured, so none is recommended. The reasons are above; "
               "--seconds gives more time.",
               0) +
           "\n";
  if (fastest == nullptr) {
    const auto baseline = std::ranges::find_if(advice.specs, &SpecAdvice::is_baseline);
    return wrap("No compressor " + none_pays + ": use " +
                    baseline_words(baseline->point.compressor.to_string()) + ".",
                0) +
           "\n";
  }
  std::string text = fmt::format("Fastest: {}, {}", fastest->point.compressor.to_string(),
                                 cost_words(*fastest, trace));
  text +=
      " Among steps that differ by less than 2 %, the one with the least error counts as fastest.";
  if (faithful == fastest)
    text += " It is also the fastest with " + little + ".";
  else if (faithful == nullptr)
    text += " No compressor with " + little + " " + none_pays + ".";
  else
    text += fmt::format(" Fastest with {}: {}, {}", little, faithful->point.compressor.to_string(),
                        cost_words(*faithful, trace));
  if (advice.min_elements > 0)
    text += fmt::format(
        " Tensors of fewer than {} elements ({:.2g} % of all elements) can go "
        "uncompressed: the step takes at most 1 % longer.",
        advice.min_elements,
        100 * advice.uncompressed_elements / static_cast<double>(trace.elements()));
  return wrap(text, 0) + "\n";
}

std::string assumptions(const Advice& advice, const AdviceRequest& request, const Trace& trace,
                        const PredictedOrigin& origin) {
  std::string text = fmt::format(
      "Assumed: compute times: {}. Codec times: {}, on {} of {} tensors ({} of {} elements), each "
      "of which represents the tensors of its kind and size.",
      origin.compute, origin.codecs, advice.sampled_tensors, trace.tensors().size(),
      format_number(advice.sampled_elements), format_number(static_cast<double>(trace.elements())));
  if (request.codecs == CodecTimes::kMemory)
    text += fmt::format(
        " The ranking takes the lower bound of a codec on that GPU{}; column \"CPU codec\" has the "
        "step with this CPU's codec.",
        origin.device->memory_rate > 0
            ? fmt::format(", which reads the gradient once and writes the mean once at {}/s",
                          format_bytes(origin.device->memory_rate))
            : ", whose memory bandwidth is unknown: no time");
  text += request.machines.cores > 0
              ? fmt::format(" All ranks share {:g} cores.", request.machines.cores)
              : " Every rank has a machine of its own.";
  text +=
      " Gradients are exchanged in the buckets of PyTorch's DDP during the backward pass, each "
      "tensor compressed by itself. Step times are predictions of models (docs/predict.md); errors "
      "were measured on one rank. `thinpipe run` measures both.";
  return wrap(text, 0) + "\n";
}

Json spec_json(const SpecAdvice& spec) {
  Json json{{"compressor", spec.point.compressor.to_string()},
            {"collective", spec.point.collective.to_string()},
            {"is_baseline", spec.is_baseline},
            {"step_time", spec.step.prediction.step},
            {"compute_time", spec.step.prediction.compute},
            {"codec_time", spec.step.prediction.compress + spec.step.prediction.decode},
            {"exposed_time", spec.step.prediction.exposed},
            {"payload_bytes", spec.step.prediction.payload_bytes},
            {"over_bf16", number_or_null(spec.step.over_bf16())},
            {"over_none", number_or_null(spec.step.over_none())},
            {"cpu_step_time", number_or_null(spec.on_cpu)},
            {"error", spec.error},
            {"estimation", number_or_null(spec.estimation)},
            {"trainings", Json::array()}};
  json["break_even"] = break_even_json(spec.break_even);
  for (const TrainingResult& result : spec.trainings)
    json["trainings"].push_back({{"recipe", result.recipe},
                                 {"training", result.training},
                                 {"figure", result.figure},
                                 {"baseline", result.baseline_figure}});
  return json;
}

Json class_json(const ClassAdvice& one) {
  Json json{{"class", to_string(one.tensor_class)},
            {"tensors", one.tensors},
            {"elements", one.elements},
            {"compressors", Json::array()}};
  for (const ClassAdvice::Row& row : one.rows)
    json["compressors"].push_back({{"compressor", row.compressor},
                                   {"collective", row.collective},
                                   {"time", row.seconds},
                                   {"error", row.error}});
  return json;
}

}  // namespace

std::string advice_text(const Advice& advice, const AdviceRequest& request, const Trace& trace,
                        const PredictedOrigin& origin) {
  std::string text = wrap(fmt::format("{}, {} elements in {} tensors; {}", trace.model(),
                                      format_number(static_cast<double>(trace.elements())),
                                      trace.tensors().size(), network_words(request)),
                          2, kColumns, false) +
                     "\n" + spec_table(advice, request.codecs == CodecTimes::kMemory);
  for (const auto& [compressor, reason] : advice.left_out)
    text += wrap(compressor + ": " + reason, 4, kColumns, false) + "\n";
  text += class_tables(advice) + "\n" + sentences(advice, request, trace);
  const std::vector<const SpecAdvice*> chosen = advice.recommended(request.max_error);
  for (const SpecAdvice* spec : chosen) text += "\n" + trainings_text(*spec);
  if (!chosen.empty()) text += "\nIn a PyTorch job (docs/python.md):\n";
  for (const SpecAdvice* spec : chosen)
    if (const std::string line = hook_line(*spec, advice); !line.empty())
      text += "  " + line + "\n";
  if (!chosen.empty())
    text += "To measure it on emulated links:\n  " +
            shell_quoted(run_words(chosen, advice, request)) + "\n";
  return text + "\n" + assumptions(advice, request, trace, origin);
}

Json advice_json(const Advice& advice, const AdviceRequest& request, const Trace& trace,
                 const PredictedOrigin& origin) {
  Json json{{"created", created_now()},
            {"fingerprint", fingerprint({})},
            {"trace", request.sweep.trace.string()},
            {"elements", trace.elements()},
            {"ranks", request.sweep.ranks.front()},
            {"link", request.sweep.links.front().to_string()},
            {"topology", request.sweep.topology.to_string()},
            {"compute", origin.compute},
            {"codecs", origin.codecs},
            {"memory_bound_codecs", request.codecs == CodecTimes::kMemory},
            {"sampled_elements", advice.sampled_elements},
            {"min_elements", advice.min_elements},
            {"specs", Json::array()},
            {"classes", Json::array()},
            {"recommended", Json::array()},
            {"left_out", Json::array()}};
  for (const SpecAdvice& spec : advice.specs) json["specs"].push_back(spec_json(spec));
  for (const ClassAdvice& one : advice.classes) json["classes"].push_back(class_json(one));
  const std::vector<const SpecAdvice*> chosen = advice.recommended(request.max_error);
  for (const SpecAdvice* spec : chosen)
    json["recommended"].push_back({{"compressor", spec->point.compressor.to_string()},
                                   {"collective", spec->point.collective.to_string()},
                                   {"hook", hook_line(*spec, advice)}});
  if (!chosen.empty()) json["run"] = shell_quoted(run_words(chosen, advice, request));
  for (const auto& [compressor, reason] : advice.left_out)
    json["left_out"].push_back({{"compressor", compressor}, {"reason", reason}});
  return json;
}

}  // namespace thinpipe
