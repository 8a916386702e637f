// The command `thinpipe`: all its verbs, and what finds and runs the one that is asked for. A new
// verb is a file in this folder and a line here and in verbs.cc.
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

/// The action that a command line asks for, or the error in it.
struct ReadCommand {
  std::string who = "thinpipe";  ///< in whose name errors are told: "thinpipe run"
  Action action = {};            ///< empty where there is an error
  int code = kExitGood;          ///< the exit code of the error
  std::string error = {};        ///< as standard error is to have it, without the last newline
};

/// Finds the verb and prepares it: all that happens before anything is done. Does not throw.
/// @param words  the arguments without the program's name
ReadCommand read_command(const std::vector<std::string>& words);

/// The same, and does it; errors become messages and exit codes. Returns the exit code; does not
/// throw.
int run_command(const std::vector<std::string>& words);

}  // namespace thinpipe
