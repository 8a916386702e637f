// `thinpipe trace import`, `slice`, `merge` and `export`.
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
#include "harness/commands/sweep_options.h"
#include "harness/commands/trace.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/options/terminal.h"
#include "reports/text/phrases.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/import/import.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

// Parses "3" or "0,10-20" into inclusive ranges. @throws InputError naming `option`
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(const std::string& text,
                                                                  const std::string& option) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  if (text.empty()) return ranges;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    std::vector<std::uint64_t> numbers;
    for (const std::string& end : ends)
      if (const auto number = parse_number<std::uint64_t>(end)) numbers.push_back(*number);
    if (ends.size() > 2 || numbers.size() != ends.size() || numbers.front() > numbers.back())
      throw InputError("--" + option + ": expected numbers and ranges such as 0,10-20, found " +
                       in_quotes(part));
    ranges.emplace_back(numbers.front(), numbers.back());
  }
  return ranges;
}

ImportFormat format_of(const std::string& name) {
  for (const auto format :
       {ImportFormat::kNpy, ImportFormat::kNpz, ImportFormat::kSafetensors, ImportFormat::kChakra})
    if (name == import_format_name(format)) return format;
  return ImportFormat::kAuto;
}

std::string import_summary(const ImportSummary& summary, const std::string& out) {
  std::string text = fmt::format(
      "{}: {} of {}, {}, {}, from {}\n", out, counted(summary.steps, "step"),
      counted(summary.ranks, "rank"), counted(summary.tensors, "tensor"),
      counted(summary.elements, "element"),
      counted(summary.files, import_format_name(summary.format) + std::string(" file")));
  if (summary.drawn)
    text += "note: the input has no values; they are generated (origin: synthetic)\n";
  if (!summary.has_times)
    text +=
        "note: the input has no compute times; --forward and --backward set those of the trace\n";
  return text;
}

int import_and_report(const std::vector<std::filesystem::path>& inputs, const std::string& out,
                      const ImportOptions& options, bool as_json) {
  const ImportSummary summary = import_trace(inputs, out, options);
  if (!as_json) {
    write_text(import_summary(summary, out));
    return kExitGood;
  }
  write_json({{"folder", out},
              {"identity", Trace(out).identity()},
              {"format", import_format_name(summary.format)},
              {"files", summary.files},
              {"steps", summary.steps},
              {"ranks", summary.ranks},
              {"tensors", summary.tensors},
              {"elements", summary.elements},
              {"measured_times", summary.has_times},
              {"values", summary.drawn ? "synthetic" : "imported"}});
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
  return
      [=, &arguments] { return import_and_report(inputs, out, options, arguments.flag("json")); };
}

Action prepare_trace_slice(const Arguments& arguments) {
  const auto trace = std::make_shared<const Trace>(open_trace_files(arguments.positional("DIR")));
  return [&arguments, trace, parts = parts_of(*trace, arguments)] {
    const std::string& out = arguments.text("out");
    slice_trace(*trace, parts, out);
    write_text(fmt::format("{}: {} of {} steps, {} of {} ranks, {} of {} tensors\n", out,
                           parts.steps.size(), trace->steps(), parts.ranks.size(), trace->ranks(),
                           parts.tensors.size(), trace->tensors().size()));
    return kExitGood;
  };
}

MergeBy merge_by(const std::string& name) {
  return name == "ranks" ? MergeBy::kRanks : name == "steps" ? MergeBy::kSteps : MergeBy::kAuto;
}

Action prepare_trace_merge(const Arguments& arguments) {
  const auto traces = std::make_shared<std::vector<Trace>>();
  for (const std::string& folder : arguments.positionals("DIR"))
    traces->push_back(open_trace_files(folder));
  return [&arguments, traces] {
    const std::string& out = arguments.text("out");
    const MergeBy merged = merge_traces(*traces, merge_by(arguments.text("by")), out);
    const Trace whole(out);
    write_text(fmt::format("{}: {} traces merged by {}: {} steps of {} ranks\n", out,
                           traces->size(), merged == MergeBy::kRanks ? "ranks" : "steps",
                           whole.steps(), whole.ranks()));
    return kExitGood;
  };
}

ExportFormat export_format_of(const std::string& name) {
  return name == "npy"   ? ExportFormat::kNpy
         : name == "npz" ? ExportFormat::kNpz
                         : ExportFormat::kSafetensors;
}

Action prepare_trace_export(const Arguments& arguments) {
  const auto trace = std::make_shared<const Trace>(open_trace(arguments.positional("DIR")));
  if (arguments.text("format") == "chakra")
    return prepare_chakra_export(arguments, trace, parts_of(*trace, arguments));
  for (const OptionInfo& option : chakra_options())
    if (arguments.given(option.name))
      throw InputError("--" + option.name + " needs --format chakra");
  return [&arguments, trace, parts = parts_of(*trace, arguments)] {
    const std::string &format = arguments.text("format"), &out = arguments.text("out");
    const std::size_t files = export_trace(*trace, parts, export_format_of(format), out);
    write_text(fmt::format("{}: {} {} {}: {} steps of {} ranks, {} tensors\n", out, files, format,
                           files == 1 ? "file" : "files", parts.steps.size(), parts.ranks.size(),
                           parts.tensors.size()));
    return kExitGood;
  };
}

// Returns `--out DIR`, required: a new folder.
OptionInfo new_folder_option(const std::string& help) {
  return required(folder_option("out,o", "DIR", "", help));
}

}  // namespace

OptionInfo steps_option(const std::string& help) { return text_option("steps", "LIST", "", help); }

OptionInfo ranks_option(const std::string& help, const std::string& default_value) {
  return text_option("ranks", "LIST", default_value, help);
}

OptionInfo tensors_option(const std::string& help) {
  return repeatable(text_option("tensors", "GLOB", "", help));
}

SliceParts parts_of(const Trace& trace, const Arguments& arguments) {
  return slice_parts(trace, {.steps = parse_ranges(arguments.text("steps"), "steps"),
                             .ranks = parse_ranges(arguments.text("ranks"), "ranks"),
                             .tensors = arguments.texts("tensors")});
}

Verb trace_import_verb() {
  return {
      .name = "trace import",
      .summary = "Import gradients of other programs as a trace",
      .description =
          "Reads a folder of .npy, .npz or safetensors files, or Chakra execution traces in JSON "
          "or protobuf (one file per rank), and writes a trace. --pattern defines how file paths "
          "name step, rank and tensor. By default the common conventions are tried, first that of "
          "SIDCo's gradient files; docs/traces.md lists them.\n\n"
          "A Chakra trace has shapes, order and times, but no values. Values are generated, and "
          "the trace is marked as synthetic. Other files have no compute times; --forward and "
          "--backward set them. The trace's provenance records all assumptions. After an error, "
          "nothing is written.",
      .options = {new_folder_option("new folder for the trace"),
                  choice_option("format", "FORMAT", "auto",
                                {"auto", "npy", "npz", "safetensors", "chakra"},
                                "format of the files; auto selects by extension"),
                  text_option("pattern", "PATTERN", "",
                              "pattern of the paths below PATH, such as "
                              "{step}/{rank}/{tensor}.npy; * matches anything but a slash, and "
                              "other files are ignored"),
                  text_option("model", "NAME", "", "name of the model; by default that of PATH"),
                  repeatable(text_option("rename", "OLD=NEW", "",
                                         "rename tensors, such as 'module.*=*'; the first match "
                                         "applies")),
                  tensors_option("import only tensors whose name matches, after renaming"),
                  choice_option("order", "ORDER", "backward", {"backward", "forward"},
                                "order in which gradients become ready: from the last tensor of "
                                "the files to the first (backward), as in a backward pass, or from "
                                "the first to the last (forward)"),
                  real_option("forward", "SECONDS", "0", {0, 1e6},
                              "forward time of a step in seconds, if the input has none"),
                  real_option("backward", "SECONDS", "0", {0, 1e6},
                              "backward time of a step in seconds, if the input has none; "
                              "gradients become ready evenly during it"),
                  integer_option("seed", "N", "1", {0, 9e15},
                                 "random seed of the generated values of a Chakra trace"),
                  {.name = "json", .help = "print JSON for programs"}},
      .positionals = {{.name = "PATH",
                       .type = Type::kFolder,
                       .help = "folder or file; for Chakra traces, one file per rank",
                       .repeatable = true}},
      .examples = {{"SIDCo's gradient files, grads/..._r0_gradients_iter_100.npy",
                    "thinpipe trace import grads --out trace"},
                   {"One .npz file per step and rank",
                    "thinpipe trace import dump --pattern 'it{step}_w{rank}.npz' --out trace"},
                   {"Shapes and times of two ranks from PyTorch's execution trace observer",
                    "thinpipe trace import rank0.json rank1.json --out trace"}},
      .prepare = prepare_trace_import};
}

Verb trace_slice_verb() {
  return {
      .name = "trace slice",
      .summary = "Copy a selection of steps, ranks and tensors of a trace",
      .description =
          "Writes a new trace with the selected parts, bit for bit and in their dtype. Ranks are "
          "renumbered from 0; training steps keep their numbers. The provenance names the original "
          "trace. After an error, nothing is written.",
      .options = {new_folder_option("new folder for the trace"),
                  steps_option("training steps, such as 0,10-20; by default all"),
                  ranks_option("ranks, such as 0,2-3; by default all"),
                  tensors_option("tensors whose name matches; by default all")},
      .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "folder of the trace"}},
      .examples =
          {{"The first two ranks", "thinpipe trace slice trace --ranks 0-1 --out two"},
           {"Weights of convolutions in one step",
            "thinpipe trace slice trace --steps 150 --tensors 'conv*.weight' --out convolutions"}},
      .prepare = prepare_trace_slice};
}

Verb trace_merge_verb() {
  return {.name = "trace merge",
          .summary = "Merge several traces into one",
          .description =
              "Merging by ranks needs traces with the same training steps; the ranks of the first "
              "trace come first. Merging by steps needs traces with the same number of ranks and "
              "no common step. Model, tensors, dtype, origin and second moments must agree. Values "
              "are copied bit for bit. After an error, nothing is written.",
          .options = {new_folder_option("new folder for the trace"),
                      choice_option("by", "WHAT", "auto", {"auto", "ranks", "steps"},
                                    "what to merge by; auto selects ranks if all traces have the "
                                    "same steps, else steps")},
          .positionals = {{.name = "DIR",
                           .type = Type::kFolder,
                           .help = "folders of the traces, at least two",
                           .repeatable = true}},
          .examples = {{"Merge the ranks of two hosts",
                        "thinpipe trace merge host-a/trace host-b/trace --out trace"}},
          .prepare = prepare_trace_merge};
}

Verb trace_export_verb() {
  return {.name = "trace export",
          .summary = "Export the gradients of a trace for other programs",
          .description =
              "Writes a file for each step of each rank, rank-000/step-00000007.npz or "
              ".safetensors; for npy, a folder of that name with one .npy file per tensor. All "
              "values are FP32; 16-bit values are widened. Second moments are named q:NAME. "
              "`thinpipe trace import` reads all three formats. After an error, nothing is "
              "written.\n\n"
              "--format chakra writes a Chakra execution trace in protobuf for each rank, "
              "MODEL.RANK.et, for simulators of accelerators. It has no values, but nodes for the "
              "forward pass, the backward pass cut where gradients become ready, encoding, "
              "collectives with the sizes of encoded payloads, and decoding. Sizes and codec times "
              "are measured on the trace, for about half a second.",
          .options = joined(
              {{new_folder_option("new folder for the files"),
                choice_option("format", "FORMAT", "npz", {"npz", "npy", "safetensors", "chakra"},
                              "format of the files; npz and npy are NumPy's"),
                steps_option("training steps, such as 0,10-20; by default all"),
                ranks_option("ranks, such as 0,2-3; by default all"),
                tensors_option("tensors whose name matches; by default all")},
               chakra_options()}),
          .positionals = {{.name = "DIR", .type = Type::kFolder, .help = "folder of the trace"}},
          .examples = {{"For NumPy: numpy.load('arrays/rank-000/step-00000150.npz')",
                        "thinpipe trace export trace --out arrays"},
                       {"One tensor of the first rank",
                        "thinpipe trace export trace --ranks 0 --tensors conv1.weight --format npy "
                        "--out arrays"},
                       {"For a simulator: one step with compressed payloads",
                        "thinpipe trace export trace --format chakra -c topk:ratio=0.01 --steps "
                        "150 --out et"}},
          .prepare = prepare_trace_export};
}

}  // namespace thinpipe
