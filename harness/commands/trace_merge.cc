// `thinpipe trace merge`: ranks of several hosts, or steps of several recordings, as one trace.
#include <fmt/format.h>

#include <memory>

#include "harness/commands/output.h"
#include "harness/commands/trace_parts.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/options/arguments.h"
#include "workloads/trace/edit/edit.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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

}  // namespace

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

}  // namespace thinpipe
