#include "harness/commands/compressor_options.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/options/terminal.h"

namespace thinpipe {
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

bool DistinctCompressors::add(const Spec& spec) {
  const std::string text = spec.to_string();
  const auto [found, added] = first_.try_emplace(parameters_of(spec).text(), text);
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
                     "instruction set of the kernels: avx3, avx2, sse4, neon, emu128 or another "
                     "one that the CPU has",
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

}  // namespace thinpipe
