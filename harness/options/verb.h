// The verbs of the command as tables, from which parsing, --help, the man page and completion are
// made.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace thinpipe {

/// One option of a verb, written `--name VALUE` (or `--name` for a flag).
struct OptionInfo {
  enum class Type {
    kFlag,     ///< no value
    kText,     ///< anything; the verb checks it
    kInteger,  ///< within [minimum, maximum]
    kReal,     ///< finite and within [minimum, maximum]
    kChoice,   ///< one of `choices`
    kFile,     ///< as kText; completion offers files
    kFolder,   ///< as kText; completion offers folders
  };
  std::string name = {};        ///< without the dashes
  char letter = 0;              ///< `-x`, or 0
  std::string value_name = {};  ///< what stands for the value in help: "N", "DIR"
  Type type = Type::kFlag;
  std::string default_value = {};  ///< as a user would write it; "" for none
  std::string help = {};           ///< one sentence without full stop, with the unit
  std::vector<std::string> choices = {};
  std::vector<std::string> suggestions = {};  ///< what completion offers where `choices` are open
  bool required = false;
  bool repeatable = false;  ///< may be given several times; see Arguments::texts
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

/// An argument without dashes. At most the last of a verb's positionals is repeatable.
struct PositionalInfo {
  std::string name = {};  ///< "DIR"; the key for Arguments::positional
  OptionInfo::Type type = OptionInfo::Type::kText;
  std::string help = {};
  bool required = true;
  bool repeatable = false;
  std::vector<std::string> suggestions = {};  ///< what completion offers
};

/// A command line that works as written, and what it is good for.
struct Example {
  std::string purpose = {};
  std::string command = {};  ///< begins with "thinpipe "
};

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

/// Entry of a group of two-word verbs in the listing of verbs.
struct VerbGroup {
  std::string name = {};
  std::string summary = {};
};

}  // namespace thinpipe
