// Completion of command lines in a shell.
#pragma once

#include <string>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

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
