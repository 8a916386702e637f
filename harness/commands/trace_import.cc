// `thinpipe trace import`: gradients that another program wrote, made a trace.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/commands/output.h"
#include "harness/commands/trace_parts.h"
#include "harness/commands/verbs.h"
#include "workloads/trace/import/import.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

ImportFormat format_of(const std::string& name) {
  for (const auto format : {ImportFormat::kNpy, ImportFormat::kNpz, ImportFormat::kSafetensors,
                            ImportFormat::kChakra}) {
    if (name == import_format_name(format)) return format;
  }
  return ImportFormat::kAuto;
}

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string import_summary(const ImportSummary& summary, const std::string& out) {
  std::string text = fmt::format(
      "{}: {} of {}, {}, {}, from {}\n", out, counted(summary.steps, "step"),
      counted(summary.ranks, "rank"), counted(summary.tensors, "tensor"),
      counted(summary.elements, "element"),
      counted(summary.files, import_format_name(summary.format) + std::string(" file")));
  if (summary.drawn) text += "note: values are drawn; the input has none (origin: synthetic)\n";
  if (!summary.has_times) {
    text +=
        "note: the input has no compute times; those of the trace are --forward and --backward\n";
  }
  return text;
}

int import_and_tell(const std::vector<std::filesystem::path>& inputs, const std::string& out,
                    const ImportOptions& options, bool as_json) {
  const ImportSummary summary = import_trace(inputs, out, options);
  if (!as_json) {
    write_text(import_summary(summary, out));
    return kExitGood;
  }
  write_stdout(Json{{"folder", out},
                    {"identity", Trace(out).identity()},
                    {"format", import_format_name(summary.format)},
                    {"files", summary.files},
                    {"steps", summary.steps},
                    {"ranks", summary.ranks},
                    {"tensors", summary.tensors},
                    {"elements", summary.elements},
                    {"measured_times", summary.has_times},
                    {"values", summary.drawn ? "synthetic" : "imported"}}
                   .dump(2) +
               "\n");
  return kExitGood;
}

Action prepare_trace_import(const Arguments& arguments) {
  ImportOptions options;
  options.format = format_of(arguments.text("format"));
  options.pattern = arguments.text("pattern");
  options.model = arguments.text("model");
  options.renames = arguments.texts("rename");
  options.tensors = arguments.texts("tensors");
  options.first_ready_first = arguments.text("order") == "forward";
  options.forward = arguments.real("forward");
  options.backward = arguments.real("backward");
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  const std::string out = arguments.text("out");
  std::vector<std::filesystem::path> inputs;
  for (const std::string& path : arguments.positionals("PATH")) inputs.emplace_back(path);
  return [=, &arguments] { return import_and_tell(inputs, out, options, arguments.flag("json")); };
}

}  // namespace

Verb trace_import_verb() {
  return {
      .name = "trace import",
      .summary = "Make a trace of gradients from elsewhere",
      .description =
          "Reads a folder of .npy, .npz or safetensors files, or Chakra host traces in JSON (one "
          "file a rank), and writes a trace. --pattern says how paths name step, rank and tensor; "
          "without it the usual ways are tried, the names of SIDCo's gradient files first. "
          "docs/traces.md lists them.\n\n"
          "Of a Chakra trace shapes, order and times are real and values are drawn: such a trace "
          "says that it is synthetic. Other files have no compute times; --forward and --backward "
          "give them. What was assumed stands in the trace's provenance. When anything is wrong, "
          "nothing is written.",
      .options = {new_folder_option("new folder for the trace"),
                  {.name = "format",
                   .value_name = "FORMAT",
                   .type = Type::kChoice,
                   .default_value = "auto",
                   .help = "what the files are; auto goes by their extensions",
                   .choices = {"auto", "npy", "npz", "safetensors", "chakra"}},
                  {.name = "pattern",
                   .value_name = "PATTERN",
                   .type = Type::kText,
                   .help = "paths below PATH, as {step}/{rank}/{tensor}.npy; * stands for anything "
                           "but a slash, and files that do not match are left out"},
                  {.name = "model",
                   .value_name = "NAME",
                   .type = Type::kText,
                   .help = "the model's name; else that of PATH"},
                  {.name = "rename",
                   .value_name = "OLD=NEW",
                   .type = Type::kText,
                   .help = "rename tensors, as 'module.*=*'; the first that fits counts",
                   .repeatable = true},
                  tensors_option("take only tensors of such names, after renaming"),
                  {.name = "order",
                   .value_name = "ORDER",
                   .type = Type::kChoice,
                   .default_value = "backward",
                   .help = "in which order gradients become ready: backward, the last of the files "
                           "first, as of a model's layers; or forward",
                   .choices = {"backward", "forward"}},
                  {.name = "forward",
                   .value_name = "SECONDS",
                   .type = Type::kReal,
                   .default_value = "0",
                   .help = "forward time of a step, where the input has none",
                   .minimum = 0,
                   .maximum = 1e6},
                  {.name = "backward",
                   .value_name = "SECONDS",
                   .type = Type::kReal,
                   .default_value = "0",
                   .help = "likewise of the backward pass; gradients become ready evenly over it",
                   .minimum = 0,
                   .maximum = 1e6},
                  {.name = "seed",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .default_value = "1",
                   .help = "of the values drawn for a Chakra trace",
                   .minimum = 0,
                   .maximum = 9e15},
                  {.name = "json", .help = "print JSON for programs"}},
      .positionals = {{.name = "PATH",
                       .type = Type::kFolder,
                       .help = "a folder or a file; for Chakra traces one file a rank",
                       .repeatable = true}},
      .examples = {{"SIDCo's gradient files, grads/..._r0_gradients_iter_100.npy",
                    "thinpipe trace import grads --out trace"},
                   {"A .npz a step of each rank",
                    "thinpipe trace import dump --pattern 'it{step}_w{rank}.npz' --out trace"},
                   {"Shapes and times of two ranks that PyTorch's observer wrote",
                    "thinpipe trace import rank0.json rank1.json --out trace"}},
      .prepare = prepare_trace_import};
}

}  // namespace thinpipe
