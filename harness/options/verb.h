// The verbs of the command as tables. Parsing, --help, the man page and shell completion are
// generated from these tables.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace thinpipe {

/// Completions of specs (`name:key=value`): the keys of each spec's name, and the values of each
/// key. A key that takes any value has an empty list.
using SpecWords = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

/// One option of a verb, written `--name VALUE` (or `--name` for a flag).
struct OptionInfo {
  enum class Type {
    kFlag,     ///< no value
    kText,     ///< anything; the verb checks it
    kInteger,  ///< within [minimum, maximum]
    kReal,     ///< finite and within [minimum, maximum]
    kChoice,   ///< one of `choices`
    kFile,     ///< a text that completion treats as a file name
    kFolder,   ///< a text that completion treats as a folder name
  };
  std::string name = {};        ///< without the dashes
  std::string old_name = {};    ///< deprecated alias, until the version after next; "" for none
  char letter = 0;              ///< `-x`, or 0
  std::string value_name = {};  ///< placeholder of the value in help: "N", "DIR"
  Type type = Type::kFlag;
  std::string default_value = {};  ///< as a user would write it; "" for none
  std::string help = {};           ///< one sentence without full stop, with the unit
  std::vector<std::string> choices = {};
  std::vector<std::string> suggestions = {};  ///< completions, where there are no `choices`
  SpecWords specs = {};  ///< completions of `name:key=value`, in place of `suggestions`
  bool required = false;
  bool repeatable = false;  ///< may be given several times; see Arguments::texts
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

/// Bounds of a number, which may be equal to either of them.
struct Bounds {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

/// Returns an option with a value. All makers of options take their parameters in this order, which
/// is about that of a line of `--help`.
/// @param names  the name, and after a comma the letter, if any: "steps,s"
/// @param default_value  "" for none
inline OptionInfo text_option(const std::string& names, const std::string& value_name,
                              const std::string& default_value, const std::string& help,
                              const std::vector<std::string>& suggestions = {}) {
  const std::size_t comma = names.find(',');
  return {.name = names.substr(0, comma),
          .letter = comma == std::string::npos ? '\0' : names.at(comma + 1),
          .value_name = value_name,
          .type = OptionInfo::Type::kText,
          .default_value = default_value,
          .help = help,
          .suggestions = suggestions};
}

inline OptionInfo file_option(const std::string& names, const std::string& value_name,
                              const std::string& default_value, const std::string& help) {
  OptionInfo option = text_option(names, value_name, default_value, help);
  option.type = OptionInfo::Type::kFile;
  return option;
}

inline OptionInfo folder_option(const std::string& names, const std::string& value_name,
                                const std::string& default_value, const std::string& help) {
  OptionInfo option = text_option(names, value_name, default_value, help);
  option.type = OptionInfo::Type::kFolder;
  return option;
}

inline OptionInfo choice_option(const std::string& names, const std::string& value_name,
                                const std::string& default_value,
                                const std::vector<std::string>& choices, const std::string& help) {
  OptionInfo option = text_option(names, value_name, default_value, help);
  option.type = OptionInfo::Type::kChoice;
  option.choices = choices;
  return option;
}

inline OptionInfo integer_option(const std::string& names, const std::string& value_name,
                                 const std::string& default_value, const Bounds& bounds,
                                 const std::string& help) {
  OptionInfo option = text_option(names, value_name, default_value, help);
  option.type = OptionInfo::Type::kInteger;
  option.minimum = bounds.minimum;
  option.maximum = bounds.maximum;
  return option;
}

inline OptionInfo real_option(const std::string& names, const std::string& value_name,
                              const std::string& default_value, const Bounds& bounds,
                              const std::string& help) {
  OptionInfo option = integer_option(names, value_name, default_value, bounds, help);
  option.type = OptionInfo::Type::kReal;
  return option;
}

inline OptionInfo required(OptionInfo option) {
  option.required = true;
  return option;
}

inline OptionInfo repeatable(OptionInfo option) {
  option.repeatable = true;
  return option;
}

/// A positional argument. Only the last one of a verb may be repeatable.
struct PositionalInfo {
  std::string name = {};  ///< "DIR"; the key for Arguments::positional
  OptionInfo::Type type = OptionInfo::Type::kText;
  std::string help = {};
  bool required = true;
  bool repeatable = false;
  std::vector<std::string> suggestions = {};  ///< completions
};

/// A heading of `--help` and the names of the options under it.
struct OptionGroup {
  std::string title = {};                 ///< "Network", without a colon
  std::vector<std::string> options = {};  ///< without dashes; names that a verb lacks are skipped
};

/// A command line that works as written, and its purpose.
struct Example {
  std::string purpose = {};
  std::string command = {};  ///< begins with "thinpipe "
};

class Arguments;

/// Runs a verb with checked arguments and returns an ExitCode. Data go to stdout (write_stdout),
/// progress to stderr.
using Action = std::function<int()>;

/// A subcommand. `name` has one word ("list") or two ("trace info": verb `info` of group `trace`).
struct Verb {
  std::string name = {};
  std::string summary = {};      ///< one line without full stop, at most 58 columns
  std::string description = {};  ///< paragraphs separated by blank lines; wrapped when printed
  std::vector<OptionInfo> options = {};  ///< without --help, which every verb has
  std::vector<PositionalInfo> positionals = {};
  std::vector<Example> examples = {};
  /// Headings for what the options are used for, the most frequent use first. Empty: one list.
  std::vector<OptionGroup> groups = {};
  /// Parses the arguments into checked types and returns the action. prepare() may read the files
  /// that the arguments name. It writes, starts and measures nothing, because
  /// tests/fuzz/command_line.cc calls it with arbitrary arguments. The arguments outlive the
  /// action. An InputError or RunError from prepare() or from the action becomes `thinpipe VERB:
  /// message` and exit code 2 or 4. After a stop request, a RunError gives 128 + the signal.
  Action (*prepare)(const Arguments&) = nullptr;
};

/// A group of two-word verbs, as one entry of the list of verbs.
struct VerbGroup {
  std::string name = {};
  std::string summary = {};
};

}  // namespace thinpipe
