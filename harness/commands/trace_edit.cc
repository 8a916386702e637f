#include "harness/commands/trace_edit.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/options/terminal.h"
#include "workloads/trace/edit/export.h"
#include "workloads/trace/import/import.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

// "3", "0,10-20": ranges with both ends. @throws InputError naming `option`.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(const std::string& text,
                                                                  const std::string& option) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  if (text.empty()) return ranges;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    std::vector<std::uint64_t> numbers;
    for (const std::string& end : ends) {
      if (const auto number = parse_number<std::uint64_t>(end)) numbers.push_back(*number);
    }
    if (ends.size() > 2 || numbers.size() != ends.size() || numbers.front() > numbers.back()) {
      throw InputError("--" + option + ": expected numbers and ranges such as 0,10-20, found " +
                       in_quotes(part));
    }
    ranges.emplace_back(numbers.front(), numbers.back());
  }
  return ranges;
}

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

int cut_out(const Trace& trace, const SliceParts& parts, const Arguments& arguments) {
  const std::string out = arguments.text("out");
  slice_trace(trace, parts, out);
  write_text(fmt::format("{}: {} of {} steps, {} of {} ranks, {} of {} tensors\n", out,
                         parts.steps.size(), trace.steps(), parts.ranks.size(), trace.ranks(),
                         parts.tensors.size(), trace.tensors().size()));
  return kExitGood;
}

Action prepare_trace_slice(const Arguments& arguments) {
  const auto trace = std::make_shared<const Trace>(open_trace_files(arguments.positional("DIR")));
  return [&arguments, trace, parts = parts_of(*trace, arguments)] {
    return cut_out(*trace, parts, arguments);
  };
}

int merge_all(const std::vector<Trace>& traces, const Arguments& arguments) {
  const std::string by = arguments.text("by"), out = arguments.text("out");
  const MergeBy merged = merge_traces(traces,
                                      by == "ranks"   ? MergeBy::kRanks
                                      : by == "steps" ? MergeBy::kSteps
                                                      : MergeBy::kAuto,
                                      out);
  const Trace whole(out);
  write_text(fmt::format("{}: {} traces merged by {}: {} steps of {} ranks\n", out, traces.size(),
                         merged == MergeBy::kRanks ? "ranks" : "steps", whole.steps(),
                         whole.ranks()));
  return kExitGood;
}

Action prepare_trace_merge(const Arguments& arguments) {
  const auto traces = std::make_shared<std::vector<Trace>>();
  for (const std::string& folder : arguments.positionals("DIR"))
    traces->push_back(open_trace_files(folder));
  return [&arguments, traces] { return merge_all(*traces, arguments); };
}

ExportFormat export_format_of(const std::string& name) {
  return name == "npy"   ? ExportFormat::kNpy
         : name == "npz" ? ExportFormat::kNpz
                         : ExportFormat::kSafetensors;
}

int export_parts(const Trace& trace, const SliceParts& parts, const Arguments& arguments) {
  const std::string format = arguments.text("format"), out = arguments.text("out");
  const std::size_t files = export_trace(trace, parts, export_format_of(format), out);
  write_text(fmt::format("{}: {} {} {}: {} steps of {} ranks, {} tensors\n", out, files, format,
                         files == 1 ? "file" : "files", parts.steps.size(), parts.ranks.size(),
                         parts.tensors.size()));
  return kExitGood;
}

Action prepare_trace_export(const Arguments& arguments) {
  const auto trace = std::make_shared<const Trace>(open_trace(arguments.positional("DIR")));
  return [&arguments, trace, parts = parts_of(*trace, arguments)] {
    return export_parts(*trace, parts, arguments);
  };
}

// `--out DIR`, required: a folder that is not there yet.
OptionInfo new_folder_option(const std::string& help) {
  return {.name = "out",
          .letter = 'o',
          .value_name = "DIR",
          .type = Type::kFolder,
          .help = help,
          .required = true};
}

}  // namespace

OptionInfo steps_option(const std::string& help) {
  return {.name = "steps", .value_name = "LIST", .type = Type::kText, .help = help};
}

OptionInfo ranks_option(const std::string& help, const std::string& default_value) {
  return {.name = "ranks",
          .value_name = "LIST",
          .type = Type::kText,
          .default_value = default_value,
          .help = help};
}

OptionInfo tensors_option(const std::string& help) {
  return {.name = "tensors",
          .value_name = "GLOB",
          .type = Type::kText,
          .help = help,
          .repeatable = true};
}

SliceParts parts_of(const Trace& trace, const Arguments& arguments) {
  return slice_parts(trace, {.steps = parse_ranges(arguments.text("steps"), "steps"),
                             .ranks = parse_ranges(arguments.text("ranks"), "ranks"),
                             .tensors = arguments.texts("tensors")});
}

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

Verb trace_slice_verb() {
  return {
      .name = "trace slice",
      .summary = "Cut steps, ranks and tensors out of a trace",
      .description =
          "Writes a new trace that holds the parts that are named, bit for bit and in the dtype "
          "they have. Ranks are numbered anew from 0, training steps keep their numbers. The "
          "provenance names the whole. When anything is wrong, nothing is written.",
      .options = {new_folder_option("new folder for the trace"),
                  steps_option("training steps, as 0,10-20; else all"),
                  ranks_option("ranks, as 0,2-3; else all"),
                  tensors_option("tensors of such names; else all")},
      .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "the trace's folder"}},
      .examples =
          {{"The first two ranks", "thinpipe trace slice trace --ranks 0-1 --out two"},
           {"Weights of convolutions in one step",
            "thinpipe trace slice trace --steps 150 --tensors 'conv*.weight' --out convolutions"}},
      .prepare = prepare_trace_slice};
}

Verb trace_merge_verb() {
  return {.name = "trace merge",
          .summary = "Make one trace of several",
          .description =
              "By ranks: the traces have the same training steps, and the ranks of the first come "
              "first. By steps: they have as many ranks and no step in common. Model, tensors, "
              "dtype, origin and second moments must agree. Values go over bit for bit. When "
              "anything is wrong, nothing is written.",
          .options = {new_folder_option("new folder for the trace"),
                      {.name = "by",
                       .value_name = "WHAT",
                       .type = Type::kChoice,
                       .default_value = "auto",
                       .help = "what each trace has a part of; auto: ranks where all have the same "
                               "steps, else steps",
                       .choices = {"auto", "ranks", "steps"}}},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "the traces' folders, at least two",
                           .repeatable = true}},
          .examples = {{"Ranks that two hosts recorded",
                        "thinpipe trace merge host-a/trace host-b/trace --out trace"}},
          .prepare = prepare_trace_merge};
}

Verb trace_export_verb() {
  return {.name = "trace export",
          .summary = "Write a trace's gradients for other programs",
          .description =
              "Writes a file for each step of each rank, rank-000/step-00000007.npz or "
              ".safetensors, or a folder of that name with a .npy a tensor. All are FP32; those of "
              "16 bits are widened. Second moments are named q:NAME. `thinpipe trace import` reads "
              "each of the three. When anything is wrong, nothing is written.",
          .options = {new_folder_option("new folder for the files"),
                      {.name = "format",
                       .value_name = "FORMAT",
                       .type = Type::kChoice,
                       .default_value = "npz",
                       .help = "npz and npy are NumPy's",
                       .choices = {"npz", "npy", "safetensors"}},
                      steps_option("training steps, as 0,10-20; else all"),
                      ranks_option("ranks, as 0,2-3; else all"),
                      tensors_option("tensors of such names; else all")},
          .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "the trace's folder"}},
          .examples = {{"For NumPy: numpy.load('arrays/rank-000/step-00000150.npz')",
                        "thinpipe trace export trace --out arrays"},
                       {"One tensor of the first rank",
                        "thinpipe trace export trace --ranks 0 --tensors conv1.weight --format npy "
                        "--out arrays"}},
          .prepare = prepare_trace_export};
}

}  // namespace thinpipe
