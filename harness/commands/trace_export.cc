// `thinpipe trace export`: a trace's gradients as files that other programs read.
#include <fmt/format.h>

#include <memory>

#include "harness/commands/output.h"
#include "harness/commands/trace_parts.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "workloads/trace/edit/export.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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

}  // namespace

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
