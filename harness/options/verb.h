// What the command can do: one Verb a subcommand, made of tables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/options/option.h"

namespace thinpipe {

class Arguments;

/// The work of a verb whose arguments are checked; returns an ExitCode. Data go to stdout
/// (write_stdout), progress to stderr.
using Action = std::function<int()>;

/// A subcommand. `name` has one word ("list") or two ("trace info": verb `info` of group `trace`).
struct Verb {
  std::string name = {};
  std::string summary = {};      ///< one line without full stop, at most 60 columns
  std::string description = {};  ///< paragraphs separated by blank lines; wrapped when printed
  std::vector<OptionInfo> options = {};  ///< --help is added to all
  std::vector<PositionalInfo> positionals = {};
  std::vector<Example> examples = {};
  /// Makes checked types of the arguments' texts, and returns what acts on them. Until then it
  /// reads files that they name, and writes, starts and measures nothing:
  /// tests/fuzz/command_line.cc calls it with whatever there is. The arguments outlive the action.
  /// InputError and RunError that either throws become `thinpipe VERB: message` and exit codes 2
  /// and 4.
  Action (*prepare)(const Arguments&) = nullptr;
};

/// What is said of a group of two-word verbs in the listing of verbs.
struct VerbGroup {
  std::string name = {};
  std::string summary = {};
};

}  // namespace thinpipe
