#include "harness/commands/shared_options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/machine/fingerprint.h"
#include "harness/options/terminal.h"
#include "harness/predict/network_model.h"
#include "netem/link/link_spec.h"

namespace thinpipe {
namespace {

constexpr const char* kMeasured = "measured";

}  // namespace

SpecWords::mapped_type parameter_words(const std::vector<ParameterInfo>& parameters) {
  SpecWords::mapped_type words;
  for (const ParameterInfo& parameter : parameters)
    words[parameter.name] = parameter.type == ParameterInfo::Type::kFlag
                                ? std::vector<std::string>{"true", "false"}
                                : parameter.choices;
  return words;
}

OptionInfo compressor_option(bool repeatable) {
  SpecWords specs;
  for (const MethodInfo& method : methods())
    specs[method.name] = parameter_words(method.parameters);
  return {.name = "compressor",
          .letter = 'c',
          .value_name = "SPEC",
          .type = OptionInfo::Type::kText,
          .help = repeatable
                      ? "name:key=value,...; key=a|b measures both values; see `thinpipe list`"
                      : "name:key=value,...; see `thinpipe list`",
          .specs = std::move(specs),
          .repeatable = repeatable};
}

Spec one_compressor(const Arguments& arguments) {
  Spec spec = parse_spec(arguments.text("compressor"));
  check_spec(spec);
  return spec;
}

std::vector<Spec> all_compressors(const Arguments& arguments, std::vector<Spec> first) {
  std::vector<Spec> specs = std::move(first);
  DistinctCompressors distinct;
  for (const Spec& spec : specs) distinct.add(spec);
  for (const std::string& text : arguments.texts("compressor"))
    for (const Spec& spec : expand_specs(text))
      if (distinct.add(spec)) specs.push_back(spec);
  return specs;
}

bool DistinctCompressors::add(const CompressorRules& rules) {
  const std::string text = rules.to_string();
  const auto [found, added] = first_.try_emplace(rules.normal().to_string(), text);
  if (!added && found->second != text)
    tell_user(fmt::format("{} is the same compressor as {} and is measured once, as the latter",
                          text, found->second));
  return added;
}

OptionInfo threads_option(const std::string& who) {
  return integer_option("threads,t", "N", "1", {1, kMaxThreads},
                        "threads for " + who + "; tensors under 2^20 elements use one thread");
}

int threads_of(const Arguments& arguments) {
  return static_cast<int>(arguments.integer("threads"));
}

OptionInfo simd_option() {
  return text_option("simd", "NAME", "best",
                     "instruction set of the kernels: best (the CPU's best), avx3, avx2, sse4, "
                     "neon, emu128 or another one that the CPU has",
                     {"best"});
}

std::string use_simd(const Arguments& arguments) {
  set_simd_target(arguments.text("simd"));
  return simd_target();
}

OptionInfo plugin_option() {
  return repeatable(file_option("plugin", "FILE", "",
                                "shared library with additional compressors (docs/plugins.md)"));
}

std::vector<std::filesystem::path> load_plugins(const Arguments& arguments) {
  std::vector<std::filesystem::path> loaded;
  for (const std::string& file : arguments.texts("plugin")) {
    load_plugin(file);
    loaded.push_back(std::filesystem::absolute(file).lexically_normal());
  }
  return loaded;
}

OptionInfo records_option() {
  return folder_option("out", "DIR", "",
                       "append the results to DIR/records.jsonl (docs/records.md); created if "
                       "missing");
}

std::unique_ptr<RecordWriter> open_records(const Arguments& arguments, const std::string& kind) {
  if (!arguments.given("out")) return nullptr;
  auto writer = std::make_unique<RecordWriter>(arguments.text("out"), RecordWriter::Mode::kResume);
  writer->require_kind(kind);  // append() would refuse too, but after the first measurement
  return writer;
}

OptionInfo non_finite_option() {
  return choice_option("non-finite", "POLICY", "error", {"error", "zero"},
                       "NaN and infinity in a gradient are errors (error) or become 0 (zero)");
}

BadValues bad_values_of(const Arguments& arguments) {
  return arguments.text("non-finite") == "zero" ? BadValues::kZero : BadValues::kRefuse;
}

std::string digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double magnitude = std::fabs(*value);
  return magnitude >= 999.5 && magnitude < 999999.5 ? fmt::format("{:.0f}", *value)
                                                    : fmt::format("{:.3g}", *value);
}

OptionInfo topology_option() {
  std::vector<std::string> names;
  for (const TopologyKind& kind : topology_kinds()) names.emplace_back(kind.name);
  return text_option("topology", "SPEC", "star",
                     "star, racks, wan or ps with settings, such as "
                     "racks:racks=2,host3=(rate=10mbit), or the path of a topology file",
                     names);
}

OptionInfo hosts_option(const std::string& default_value, int fewest) {
  return integer_option("ranks,n", "N", default_value, {static_cast<double>(fewest), 1000},
                        "number of hosts; a topology file defines its own number");
}

std::vector<std::string> link_suggestions() {
  std::vector<std::string> names;
  for (const LinkPreset& preset : link_presets()) names.emplace_back(preset.name);
  return names;
}

OptionInfo link_option(const std::string& help) {
  return text_option("link,l", "SPEC", "rate=100mbit", help, link_suggestions());
}

OptionInfo tolerance_option(const std::string& help) {
  return real_option("tolerance", "PERCENT", "3", {0.01, 100}, help);
}

int hosts_of(const Arguments& arguments, const TopologySpec& spec) {
  return spec.fixed_hosts() > 0 && !arguments.given("ranks")
             ? spec.fixed_hosts()
             : static_cast<int>(arguments.integer("ranks"));
}

std::optional<double> given_message_time(const Arguments& arguments) {
  const std::string& text = arguments.text("message-time");
  if (text == kMeasured) return std::nullopt;
  try {
    return parse_time(text);
  } catch (const InputError& error) {
    throw InputError(std::string("--message-time: ") + error.what());
  }
}

std::vector<OptionInfo> machine_model_options() {
  return {
      text_option("message-time", "T", kMeasured,
                  "fixed time per message in addition to the link's delay, such as 20us; "
                  "`measured` measures it on this machine's loopback interface"),
      real_option("cores", "N", "0", {0, 1e6},
                  "number of cores that all ranks share, as emulated hosts do; 0 gives each rank a "
                  "machine of its own"),
  };
}

MachineModel::MachineModel(const Arguments& arguments) : cores_(arguments.real("cores")) {
  const auto given = given_message_time(arguments);
  message_time_ = given ? *given : loopback_message_time();
}

PredictedMachines MachineModel::of(int ranks) const {
  const double message_time = message_time_ * crowding(ranks, 1, cores_);
  return {.network = {.message_time = message_time, .slower = 1}, .cores = cores_};
}

std::string compute_origin(const Trace& trace, double compute_scale) {
  if (compute_scale == 0) return "disabled";
  const nlohmann::json provenance = trace.metadata().value("provenance", nlohmann::json::object());
  std::string where = "recorded in the trace";
  for (const char* key : {"device", "cpu"})
    if (const auto found = provenance.find(key);
        found != provenance.end() && found->is_string() && where == "recorded in the trace")
      where = found->get<std::string>();
  if (const auto source = provenance.find("times");
      source != provenance.end() && source->is_string())
    where += ", " + source->get<std::string>();
  return where + (compute_scale == 1 ? "" : fmt::format(", times {}", compute_scale));
}

std::string measured_origin(int threads) {
  const nlohmann::json machine = machine_description();
  return fmt::format("measured now on the trace's gradients, {} of {}",
                     threads == 1 ? "one core" : fmt::format("{} threads", threads),
                     machine.value("cpu", "this machine's CPU"));
}

}  // namespace thinpipe
