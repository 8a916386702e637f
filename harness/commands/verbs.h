// The command `thinpipe`: the table of its verbs, and the dispatch to the requested verb. To add a
// verb, add a file to this folder, a line to this header and a line to verbs.cc.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
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
Verb net_torchrun_verb();
Verb net_mpirun_verb();
Verb net_restore_verb();
Verb run_verb();
Verb predict_verb();
Verb advise_verb();
Verb bench_verb();
Verb export_verb();
Verb gate_verb();
Verb history_verb();
Verb merge_verb();
Verb report_verb();
Verb compress_verb();
Verb decompress_verb();
Verb quality_verb();

/// Returns all verbs in the order of `thinpipe --help`. Names are unique, and the verbs of a group
/// are adjacent.
const std::vector<Verb>& verbs();

/// Returns the groups of two-word verbs.
const std::vector<VerbGroup>& verb_groups();

/// Returns the options that need no verb, such as `thinpipe --version`.
const Verb& command_verb();

/// A parsed command line: the action, or the error.
struct ReadCommand {
  std::string who = "thinpipe";  ///< prefix of error messages, such as "thinpipe run"
  Action action = {};            ///< empty after an error
  int code = kExitGood;          ///< exit code of the error
  std::string error = {};        ///< message for standard error, without the final newline
};

/// Finds the verb and prepares its action, without running the action. Does not throw.
/// @param words  the arguments without the program's name
ReadCommand read_command(const std::vector<std::string>& words);

/// Parses and runs a command line. Prints errors to standard error. Returns the exit code; does not
/// throw.
int run_command(const std::vector<std::string>& words);

}  // namespace thinpipe
