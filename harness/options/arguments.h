// The values of one verb's options, checked against the verb's table.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// Parsed arguments. Every getter takes a name from the verb's table. It throws std::logic_error
/// for an unknown name or a wrong type, which is a bug in the verb and not a user's error.
class Arguments {
 public:
  /// Parses the words after the verb's name.
  /// @throws InputError for an unknown option (with the most similar name), a missing or repeated
  /// option, and a value of the wrong type or out of range. `--help` is accepted; see help().
  Arguments(const Verb& verb, const std::vector<std::string>& words);

  /// Returns whether the command line has the option or argument, default values aside.
  bool given(std::string_view name) const;
  bool flag(std::string_view name) const;
  long long integer(std::string_view name) const;
  double real(std::string_view name) const;
  /// Returns the value of a text, choice, file or folder option, else its default, else "".
  const std::string& text(std::string_view name) const;
  /// Returns all values of a repeatable option, else its default as the only value, else none.
  const std::vector<std::string>& texts(std::string_view name) const;
  /// Returns a positional argument; "" for an optional one that is not given.
  const std::string& positional(std::string_view name) const;
  const std::vector<std::string>& positionals(std::string_view name) const;

  /// Returns whether --help is among the words. Then no other option is required or checked.
  bool help() const { return help_; }
  const Verb& verb() const { return *verb_; }
  /// Returns the words as given, for records: {"thinpipe", "run", "--trace", ...}.
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

/// Returns the alternatives of an option, without duplicates, in the order given. An option lists
/// alternatives as `1|2|4` or by repetition.
std::vector<std::string> alternatives(const std::vector<std::string>& texts);

/// Returns the alternatives of an option as integers from 1 to `most`.
/// @param option  name without dashes, for the error
/// @param of      the counted things, such as "ranks", for the error
/// @throws InputError naming the value that is no such integer
std::vector<int> count_alternatives(const std::vector<std::string>& texts,
                                    const std::string& option, const std::string& of, int most);

}  // namespace thinpipe
