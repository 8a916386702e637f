// `thinpipe quality`: what compressors keep of a trace's gradients, without a network.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/commands/compressor_options.h"
#include "harness/commands/file_tables.h"
#include "harness/commands/kernel_options.h"
#include "harness/commands/output.h"
#include "harness/commands/plugins.h"
#include "harness/commands/records_option.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/quality/dump.h"
#include "harness/quality/offline.h"
#include "harness/quality/records.h"
#include "harness/records/launch_header.h"
#include "harness/sweep/progress.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

constexpr std::size_t kSpecColumns = 22;

Json distribution_json(const std::optional<Distribution>& values) {
  if (!values) return nullptr;
  return {{"samples", values->samples}, {"mean", values->mean}, {"p5", values->p5},
          {"p50", values->p50},         {"p95", values->p95},   {"max", values->max}};
}

Json to_json(const QualitySummary& summary) {
  return {{"elements", summary.elements},
          {"encoded_bytes", summary.encoded_bytes},
          {"bits_per_element", summary.bits_per_element},
          {"compression_ratio",
           summary.encoded_bytes == 0 ? Json(nullptr) : Json(summary.compression_ratio)},
          {"k_hat_over_k", distribution_json(summary.estimation)},
          {"relative_error",
           {{"mean", number_or_null(summary.error_mean)},
            {"last", number_or_null(summary.error_last)}}},
          {"cosine",
           {{"mean", number_or_null(summary.cosine_mean)},
            {"last", number_or_null(summary.cosine_last)}}},
          {"drift", number_or_null(summary.drift)},
          {"top_k_overlap", number_or_null(summary.overlap)},
          {"passes", summary.passes},
          {"encode_ns_per_element", summary.nanoseconds_per_element}};
}

Json to_json(const CompressorQuality& quality) {
  Json tensors = Json::array();
  for (const TensorQuality& tensor : quality.tensors) {
    Json json{{"name", tensor.info.name}, {"shape", tensor.info.shape}};
    json.update(to_json(tensor.summary));
    tensors.push_back(json);
  }
  Json json{{"compressor", quality.spec.to_string()},
            {"spec", quality.compressor},
            {"period", quality.period},
            {"incremental", quality.incremental}};
  json.update(to_json(quality.total));
  json["tensors"] = tensors;
  return json;
}

// Both for the names of the columns and for the numbers; 100 columns wide.
template <class... Cells>
std::string table_line(const std::string& first, const Cells&... cells) {
  constexpr std::size_t kWidths[] = {8, 6, 6, 6, 6, 6, 6, 7, 7, 6, 7, 7};
  static_assert(sizeof...(cells) == std::size(kWidths));
  std::string line = fmt::format("{:<22}", first);
  const std::size_t* width = kWidths;
  ((line += right(cells, *width++)), ...);
  return line + "\n";
}

std::string header() {
  return fmt::format("{:30}{:>24}{:>12}\n", "", "sent over asked", "error, %") +
         table_line("compressor", "bits/el", "k\xcc\x82/k", "p5", "p95", "max", "mean", "last",
                    "cosine", "drift", "top-k", "passes", "ns/el");
}

std::string quality_row(const CompressorQuality& quality) {
  const QualitySummary& total = quality.total;
  const auto& k = total.estimation;
  const auto of_k = [&](double Distribution::*member) {
    return k ? digits((*k).*member) : std::string("-");
  };
  const auto in_percent = [](std::optional<double> share) {
    return share ? digits(100 * *share) : std::string("-");
  };
  std::string spec = quality.spec.to_string(), before;
  if (spec.size() >= kSpecColumns) before = std::exchange(spec, "") + "\n";
  return before + table_line(spec, digits(total.bits_per_element), of_k(&Distribution::mean),
                             of_k(&Distribution::p5), of_k(&Distribution::p95),
                             of_k(&Distribution::max), in_percent(total.error_mean),
                             in_percent(total.error_last), digits(total.cosine_mean),
                             digits(total.drift), in_percent(total.overlap), digits(total.passes),
                             digits(total.nanoseconds_per_element));
}

/// DIR itself for one compressor; for several a folder each, named by the spec.
std::filesystem::path dump_folder(const Arguments& arguments, const Spec& spec, bool single) {
  std::filesystem::path folder = arguments.text("dump-decoded");
  if (folder.empty() || single) return folder;
  std::string name = spec.to_string();
  std::replace(name.begin(), name.end(), '/', '+');
  return folder / name;
}

int quality(const Arguments& arguments) {
  load_plugins(arguments);
  const std::vector<Spec> specs = all_compressors(arguments);
  const Trace trace = open_trace(arguments.text("trace"));
  OfflineOptions options;
  options.ranks = arguments.given("ranks") ? static_cast<std::size_t>(arguments.integer("ranks"))
                                           : trace.ranks();
  options.steps = arguments.given("steps") ? static_cast<std::size_t>(arguments.integer("steps"))
                                           : trace.steps();
  options.steps_per_epoch = static_cast<std::size_t>(arguments.integer("steps-per-epoch"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.threads = threads_of(arguments);
  options.bad_values = bad_values_of(arguments);
  const std::string simd = use_simd(arguments);
  constexpr double kElementBytes = 24;  // of what came, what was decoded, and their sums
  require_memory(trace, "one rank",
                 kElementBytes * static_cast<double>(trace.elements()) +
                     static_cast<double>(trace.generated_bytes_per_rank()));
  if (arguments.given("dump-decoded")) make_dump_folder(arguments.text("dump-decoded"));
  const std::unique_ptr<RecordWriter> writer = open_records(arguments);
  if (writer)
    writer->append(launch_header({.kind = kQualityKind,
                                  .command = arguments.command_line(),
                                  .seed = options.seed,
                                  .threads = options.threads},
                                 &trace));

  Json json{{"trace", trace.folder().string()}, {"identity", trace.identity()},
            {"model", trace.model()},           {"ranks", options.ranks},
            {"steps", options.steps},           {"seed", options.seed},
            {"threads", options.threads},       {"simd", simd},
            {"compressors", Json::array()}};
  std::string text = header();
  {
    const auto work = static_cast<double>(trace.elements()) * static_cast<double>(options.ranks) *
                      static_cast<double>(options.steps);
    Progress progress(work * static_cast<double>(specs.size()));
    for (const Spec& spec : specs) {
      options.dump = dump_folder(arguments, spec, specs.size() == 1);
      progress.describe(spec.to_string());
      const CompressorQuality quality = replay_offline(
          trace, spec, options,
          [&](std::size_t elements) { progress.advance(static_cast<double>(elements)); });
      json["compressors"].push_back(to_json(quality));
      if (writer)
        for (const nlohmann::json& point : quality_points(quality)) writer->append(point);
      text += quality_row(quality);
    }
  }
  write_stdout(arguments.flag("json") ? json.dump(2) + "\n" : text);
  return kExitGood;
}

}  // namespace

Verb quality_verb() {
  return {
      .name = "quality",
      .summary = "What compressors keep of a trace, without a network",
      .description =
          "Replays every step of a trace through each compressor, rank by rank, and decodes every "
          "payload. The table has, over all tensors, steps and ranks: bits an element; elements "
          "sent over elements asked for (mean, percentiles, largest); the error, which is the "
          "distance between decoded and input over the input's norm in percent (L2; the input "
          "being gradient and memory); their cosine; the drift, which is the distance between the "
          "sums of all gradients and of all that was decoded over the former's norm; the share in "
          "percent of what was sent that is among the true top-k; passes over the data; and the "
          "time of an encode.\n\n"
          "JSON has the same for every tensor. --dump-decoded writes what receivers decode, and "
          "what stays behind, to one safetensors file a rank and step.",
      .options = {{.name = "trace",
                   .value_name = "DIR",
                   .type = Type::kFolder,
                   .help = "the captured gradients, or synthetic:... (docs/synthetic.md)",
                   .required = true},
                  compressor_option(true),
                  {.name = "steps",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .help = "steps to replay, after the last recorded comes the first again; else "
                           "as many as were recorded",
                   .minimum = 1,
                   .maximum = 1e6},
                  {.name = "ranks",
                   .letter = 'n',
                   .value_name = "N",
                   .type = Type::kInteger,
                   .help = "the first so many ranks of the trace; else all",
                   .minimum = 1,
                   .maximum = 1e6},
                  {.name = "steps-per-epoch",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .default_value = "0",
                   .help = "for compressors with a warm-up; 0 leaves all steps in epoch 0",
                   .minimum = 0,
                   .maximum = 1e9},
                  {.name = "seed",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .default_value = "1",
                   .help = "of compressors that sample or round at random",
                   .minimum = 0,
                   .maximum = 9e15},
                  threads_option("one encode or decode"),
                  simd_option(),
                  {.name = "dump-decoded",
                   .value_name = "DIR",
                   .type = Type::kFolder,
                   .help = "new folder for decoded/NAME and residual/NAME of every rank and step; "
                           "with several compressors, a folder in it for each"},
                  non_finite_option(),
                  plugin_option(),
                  {.name = "json", .help = "print JSON for programs"},
                  records_option()},
      .examples = {{"Three compressors side by side",
                    "thinpipe quality --trace trace -c 'topk:ratio=0.01' -c sidco -c 3lc"},
                   {"Keep what was decoded",
                    "thinpipe quality --trace trace -c sbc --dump-decoded decoded"}},
      .run = quality};
}

}  // namespace thinpipe
