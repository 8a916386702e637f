// The origin of the figures, and the command that measures a point again.
#include "reports/text/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::string plain(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Deeper objects stay JSON: a record is outside input and may nest to any depth.
constexpr int kDeepest = 4;

void flatten_into(const nlohmann::json& object, const std::string& prefix, int depth,
                  NamedValues& result) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object() && depth < kDeepest)
      flatten_into(value, name, depth + 1, result);
    else
      result.emplace_back(name, plain(value));
  }
}

struct AxisOption {
  std::string_view name;
  char letter = 0;
};
using AxisOptions = std::vector<AxisOption>;

// Options with a value that a point's axes replace, or that apply to a whole sweep.
const AxisOptions& replaced_options(const std::string& verb) {
  static const AxisOptions sweep = {
      {"compressor", 'c'}, {"link", 'l'}, {"ranks", 'n'},  {"workers", 'w'}, {"collective"},
      {"schedule"},        {"straggler"}, {"topology"},    {"time-scale"},   {"overlap"},
      {"codec"},           {"buckets"},   {"granularity"}, {"min-elements"}, {"local-steps"},
      {"fragments"},       {"fragment-delay"},             {"fragment-mix"}, {"outer"},
      {"epoch"},           {"shard"},     {"device"}};
  static const AxisOptions bench = {{"compressor", 'c'}, {"threads", 't'}, {"simd"}, {"size"},
                                    {"tensor"},          {"ratio"},        {"json"}, {"device"}};
  static const AxisOptions none = {};
  if (verb == "run" || verb == "train") return sweep;
  return verb == "bench" ? bench : none;
}

// Returns how many command-line words, from `word` on, belong to an option that is replaced: 2 if
// the option's value is the next word, 1 if the value is attached or the option is a flag. Returns
// 0 if `word` is no such option.
std::size_t words_of(const std::string& word, const AxisOptions& replaced) {
  for (const AxisOption& option : replaced) {
    const std::string name = "--" + std::string(option.name);
    if (word == name) return 2;
    if (word.starts_with(name + "=")) return 1;
    if (option.letter == 0 || !word.starts_with(std::string("-") + option.letter)) continue;
    return word.size() == 2 ? 2 : 1;
  }
  return word == "--resume" || word == "--no-baseline" ? 1 : 0;
}

// Changes the folder of `--out DIR` or `--out=DIR`, so that the records stay as they are.
void rename_output(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_apart = words[i] == "--out" && i + 1 < words.size();
    if (!is_apart && !words[i].starts_with("--out=")) continue;
    std::string& folder = words[is_apart ? i + 1 : i];
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    folder += "-again";
    return;
  }
}

const Header* launch_of(const Records& records, const Point& point) {
  const Header* launch = nullptr;
  for (const Header& header : records.headers)
    if (launch == nullptr || point.started.empty() || header.created <= point.started)
      launch = &header;
  return launch;
}

void add(std::vector<std::string>& words, const std::string& option, const std::string& value) {
  words.push_back("--" + option);
  words.push_back(value);
}

// Adds "granularity=bucket;buckets=first=1mb,rest=25mb" as options.
void add_bucketing(std::vector<std::string>& words, const std::string& bucketing) {
  if (bucketing.empty()) return;
  for (const std::string& part : split(bucketing, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    std::string name = part.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    add(words, name, part.substr(equals + 1));
  }
}

// Adds the options of `run` and `train`.
void add_sweep_axes(std::vector<std::string>& words, const std::string& verb, const Axes& axes) {
  words.insert(words.end(), {"-c", axes.compressor, "--no-baseline"});
  const std::string marker = ",schedule=";
  const std::size_t schedule = axes.link.find(marker);
  add(words, "link", axes.link.substr(0, schedule));
  if (schedule != std::string::npos)
    add(words, "schedule", axes.link.substr(schedule + marker.size()));
  add(words, verb == "train" ? "workers" : "ranks", std::to_string(axes.ranks));
  add(words, "collective", axes.collective.substr(axes.collective.find('-') + 1));
  if (axes.topology != "star") add(words, "topology", axes.topology);
  if (axes.stragglers != "none") add(words, "straggler", axes.stragglers);
  if (axes.time_scale != 1) add(words, "time-scale", fmt::format("{:g}", axes.time_scale));
  if (axes.device != "cpu") add(words, "device", axes.device);
  add_bucketing(words, axes.bucketing);
}

void add_bench_axes(std::vector<std::string>& words, const Axes& axes,
                    const BenchSubject& subject) {
  const auto is_trace = [](const std::string& word) { return word.starts_with("--trace"); };
  const bool from_trace = std::any_of(words.begin(), words.end(), is_trace);
  words.insert(words.end(), {"-c", axes.compressor});
  if (subject.device == "cuda") {
    add(words, "device", subject.device);
  } else {
    add(words, "threads", std::to_string(subject.threads));
    add(words, "simd", subject.simd);
  }
  if (from_trace)
    add(words, "tensor", subject.tensor);
  else
    add(words, "size", fmt::format("{:.0f}", subject.elements));
}

}  // namespace

NamedValues flattened(const nlohmann::json& object) {
  NamedValues result;
  flatten_into(object, "", 0, result);
  return result;
}

NamedValues calibration_values(const Header& header) {
  nlohmann::json rest = *header.calibration;
  rest.erase("links");
  return flattened(rest);
}

std::string trace_line(const Records& records) {
  if (records.headers.empty()) return "";
  if (records.kind() == kJobKind) {
    const nlohmann::json& settings = *records.headers.back().settings;
    std::vector<std::string> words;
    if (const auto program = settings.find("program"); program != settings.end())
      for (const nlohmann::json& word : *program) words.push_back(plain(word));
    return shell_quoted(words);
  }
  const nlohmann::json& trace = *records.headers.back().trace;
  const auto has = [&](const char* key) { return trace.contains(key) && !trace[key].is_null(); };
  std::vector<std::string> parts;
  if (has("model") && trace["model"] != "") parts.push_back(plain(trace["model"]));
  if (has("elements"))
    parts.push_back(plain(trace["elements"]) + " elements" +
                    (has("tensors") ? " in " + plain(trace["tensors"]) + " tensors" : ""));
  if (has("steps")) parts.push_back(plain(trace["steps"]) + " steps");
  if (has("values") && trace["values"] == "updates")
    parts.emplace_back("updates of parameters, not gradients");
  if (records.headers.back().settings.text("engine") == kSimGridEngine)
    parts.emplace_back("simulated by SimGrid");
  return joined(parts, ", ");
}

std::vector<std::string> reproduce_commands(const Records& records) {
  std::vector<std::string> commands;
  for (const Header& header : records.headers)
    if (!header.command.empty()) add_once(commands, shell_quoted(header.command));
  const std::filesystem::path folder = records.file.parent_path();
  commands.push_back(shell_quoted({"thinpipe", "report", folder.empty() ? "." : folder.string()}));
  return commands;
}

std::vector<std::string> method_notes() {
  return {
      "The time of a step is that of its slowest rank. Step times are medians over all measured "
      "steps of all repeats; warm-up steps are not recorded.",
      "Intervals are 95 % confidence intervals. One repeat: the exact order-statistic interval of "
      "the median. Several repeats: a percentile bootstrap of 2000 resamplings that draws repeats "
      "and then steps within them. Fewer than 6 samples give no interval.",
      "Speed-up is the median step time of a baseline over that of the compressor at the same link "
      "rate and number of ranks. The baselines are none (fp32), which sends gradients in 32 bits, "
      "and bf16, which sums them in 16 bits. A compressor is worth it where it is faster than the "
      "faster of none and bf16. A baseline with several collectives counts with its fastest one.",
      "The break-even rate is the link rate with a speed-up of 1. Between neighbouring measured "
      "rates, ln(speed-up) is taken as linear in ln(rate). The interval of the break-even rate "
      "ends where the ends of the speed-up's intervals are 1. Nothing is extrapolated beyond the "
      "measured rates.",
      "Relative error is the norm of decoded minus input over the norm of the input, for one step "
      "and one rank. Values that error feedback sends later are not subtracted. The error of "
      "single steps does not predict how training ends.",
      "Invalid points were measured but failed a check of link, clock or aggregate. They are "
      "shown, and no conclusion rests on them. Failed points have no figures."};
}

std::vector<std::string> again_words(const Records& records, const Point& point) {
  const Header* launch = launch_of(records, point);
  if (launch == nullptr || launch->command.size() < 2) return {};
  const std::string& verb = launch->command[1];
  const AxisOptions& axes = replaced_options(verb);
  if (axes.empty()) return {};
  std::vector<std::string> words;
  for (std::size_t i = 0; i < launch->command.size(); ++i) {
    const std::size_t replaced = words_of(launch->command[i], axes);
    if (replaced == 0) words.push_back(launch->command[i]);
    i += replaced == 2 ? 1 : 0;
  }
  rename_output(words);
  if (verb == "bench")
    add_bench_axes(words, point.axes, point.bench.value_or(BenchSubject()));
  else
    add_sweep_axes(words, verb, point.axes);
  return words;
}

std::string again_command(const Records& records, const Point& point) {
  return shell_quoted(again_words(records, point));
}

}  // namespace thinpipe
