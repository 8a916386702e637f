// All verbs of the command. A new one is a file in this folder and a line here and in verbs.cc.
#pragma once

#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

Verb list_verb();
Verb doctor_verb();
Verb capture_verb();
Verb reproduce_verb();
Verb train_verb();
Verb trace_info_verb();
Verb trace_verify_verb();
Verb trace_import_verb();
Verb trace_export_verb();
Verb trace_slice_verb();
Verb trace_merge_verb();
Verb trace_stats_verb();
Verb net_show_verb();
Verb net_verify_verb();
Verb net_play_verb();
Verb net_exec_verb();
Verb net_restore_verb();
Verb run_verb();
Verb predict_verb();
Verb bench_verb();
Verb export_verb();
Verb gate_verb();
Verb history_verb();
Verb merge_verb();
Verb report_verb();
Verb compress_verb();
Verb decompress_verb();
Verb quality_verb();

/// In the order in which help lists them. Every name is unique; verbs of a group stand together.
const std::vector<Verb>& verbs();

/// The first words of two-word verbs.
const std::vector<VerbGroup>& verb_groups();

/// The options that stand without a verb: `thinpipe --version`.
const Verb& command_verb();

}  // namespace thinpipe
