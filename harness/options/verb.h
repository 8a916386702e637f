// What the command can do: one Verb a subcommand, made of tables.
#pragma once

#include <string>
#include <vector>

#include "harness/options/option.h"

namespace thinpipe {

class Arguments;

/// A subcommand. `name` has one word ("list") or two ("trace info": verb `info` of group `trace`).
struct Verb {
  std::string name = {};
  std::string summary = {};      ///< one line without full stop, at most 60 columns
  std::string description = {};  ///< paragraphs separated by blank lines; wrapped when printed
  std::vector<OptionInfo> options = {};  ///< --help is added to all
  std::vector<PositionalInfo> positionals = {};
  std::vector<Example> examples = {};
  /// Does it; returns an ExitCode. Data go to stdout (write_stdout), progress to stderr.
  /// InputError and RunError that it throws become `thinpipe VERB: message` and exit codes 2 and 4.
  int (*run)(const Arguments&) = nullptr;
};

/// What is said of a group of two-word verbs in the listing of verbs.
struct VerbGroup {
  std::string name = {};
  std::string summary = {};
};

}  // namespace thinpipe
