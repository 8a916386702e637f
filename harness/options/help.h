// Help texts, the manual page and the completion of command lines, generated from the tables of
// the verbs.
#pragma once

#include <string>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// Returns the text of `thinpipe VERB --help`, at most 80 columns wide, with a final newline.
std::string verb_help(const Verb& verb);

/// Returns the text of `thinpipe --help`: all verbs, with one line for each group. `command` has
/// the options that need no verb.
std::string command_help(const Verb& command, const std::vector<Verb>& verbs,
                         const std::vector<VerbGroup>& groups);

/// Returns the text of `thinpipe trace --help`: the verbs of one group.
std::string group_help(const VerbGroup& group, const std::vector<Verb>& verbs);

/// Returns the second words of a group's verbs: {"info", "verify"} for `trace`.
std::vector<std::string> verbs_of_group(const std::string& group, const std::vector<Verb>& verbs);

/// Returns the page thinpipe(1) in man(7) macros: `thinpipe --man | man -l -`.
std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version);

/// Candidates for the word that is being typed.
struct Completion {
  /// Whether the shell completes names of files or folders itself.
  enum class Names { kNone, kFiles, kFolders };
  std::vector<std::string> words = {};  ///< whole words, which begin with the word typed
  Names names = Names::kNone;
};

/// Returns the candidates at the end of a command line.
/// @param words  the words after `thinpipe`; the last one is being typed, and may be empty
Completion complete(const Verb& command, const std::vector<Verb>& verbs,
                    const std::vector<std::string>& words);

/// Returns a completion as `thinpipe --complete` prints it: a word a line, or ":files" or
/// ":folders".
std::string completion_lines(const Completion& completion);

/// Returns the shells that completion_script() knows.
const std::vector<std::string>& completion_shells();

/// Returns a script that makes the shell call `thinpipe --complete WORDS...`.
/// @param shell  one of completion_shells()
std::string completion_script(const std::string& shell);

}  // namespace thinpipe
