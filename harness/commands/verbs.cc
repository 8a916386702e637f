// All verbs of the command.
#include "harness/commands/verbs.h"

namespace thinpipe {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs{
      // clang-format off
      list_verb(),
      doctor_verb(),
      capture_verb(),
      trace_info_verb(),
      trace_verify_verb(),
      trace_stats_verb(),
      trace_import_verb(),
      trace_export_verb(),
      trace_slice_verb(),
      trace_merge_verb(),
      run_verb(),
      train_verb(),
      reproduce_verb(),
      predict_verb(),
      bench_verb(),
      gate_verb(),
      export_verb(),
      merge_verb(),
      history_verb(),
      report_verb(),
      net_show_verb(),
      net_verify_verb(),
      net_play_verb(),
      net_exec_verb(),
      net_restore_verb(),
      compress_verb(),
      decompress_verb(),
      quality_verb(),
      // clang-format on
  };
  return kVerbs;
}

const std::vector<VerbGroup>& verb_groups() {
  static const std::vector<VerbGroup> kGroups{
      {.name = "trace", .summary = "Look at gradients, bring them in and out"},
      {.name = "net", .summary = "Look at emulated links"},
  };
  return kGroups;
}

}  // namespace thinpipe
