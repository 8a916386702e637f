// `thinpipe trace slice`: some steps, ranks and tensors of a trace as a trace of its own.
#include <fmt/format.h>

#include <memory>

#include "harness/commands/output.h"
#include "harness/commands/trace_parts.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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

}  // namespace

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

}  // namespace thinpipe
