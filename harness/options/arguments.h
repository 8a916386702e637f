// The values of one verb's options, checked against its table.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// Parsed arguments. Every getter takes a name from the verb's table and throws std::logic_error
/// for another, or for one of another type: that is a bug in the verb, not a user's error.
class Arguments {
 public:
  /// Parses what follows the verb's name.
  /// @throws InputError for an unknown option (with the nearest), a missing or repeated one, a
  /// value that is not of the type or out of range. `--help` is accepted; see help().
  Arguments(const Verb& verb, const std::vector<std::string>& words);

  /// Was it given on the command line (and is not a default)?
  bool given(std::string_view name) const;
  bool flag(std::string_view name) const;
  long long integer(std::string_view name) const;
  double real(std::string_view name) const;
  /// The value of a text, choice, file or folder option; its default, or "", when not given.
  const std::string& text(std::string_view name) const;
  /// All values of a repeatable option; its default as the only one when not given, if it has one.
  const std::vector<std::string>& texts(std::string_view name) const;
  /// A positional argument; "" when optional and not given.
  const std::string& positional(std::string_view name) const;
  const std::vector<std::string>& positionals(std::string_view name) const;

  /// --help stands among the words; then nothing was required and nothing else was checked.
  bool help() const { return help_; }
  const Verb& verb() const { return *verb_; }
  /// The words as given, for records: {"thinpipe", "run", "--trace", ...}.
  std::vector<std::string> command_line() const;

 private:
  struct Entry {
    OptionInfo::Type type = OptionInfo::Type::kText;
    bool positional = false;
    bool repeatable = false;
    bool given = false;
    std::vector<std::string> values;
  };
  const Entry& entry(std::string_view name, bool positional) const;
  const std::string& single(const Entry& entry) const;
  void assign_positionals(const std::vector<std::string>& words);
  void check() const;

  const Verb* verb_;
  std::vector<std::string> words_;
  std::map<std::string, Entry, std::less<>> entries_;
  bool help_ = false;
};

/// The alternatives of an option, to be tried one after the other (1|2|4, or given again): values
/// and lists of values joined by '|', each once, in the order given.
std::vector<std::string> alternatives(const std::vector<std::string>& texts);

/// The same of whole numbers from 1 to `most`.
/// @param option  its name without dashes, and `of` what it counts, for the error
/// @throws InputError naming what is not such a number
std::vector<int> count_alternatives(const std::vector<std::string>& texts,
                                    const std::string& option, const std::string& of, int most);

}  // namespace thinpipe
