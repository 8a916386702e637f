// Help texts, the manual page and completion in a shell, made from the tables of the verbs.
#pragma once

#include <string>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// `thinpipe VERB --help`; ends with a newline, no line is over 80 columns.
std::string verb_help(const Verb& verb);

/// `thinpipe --help`: all verbs, with one line for each group. `command` has the options that
/// stand without a verb.
std::string command_help(const Verb& command, const std::vector<Verb>& verbs,
                         const std::vector<VerbGroup>& groups);

/// `thinpipe trace --help`: the verbs of one group.
std::string group_help(const VerbGroup& group, const std::vector<Verb>& verbs);

/// The second words of a group's verbs: {"info", "verify"} for `trace`.
std::vector<std::string> verbs_of_group(const std::string& group, const std::vector<Verb>& verbs);

/// thinpipe(1) in man(7) macros: `thinpipe --man | man -l -`.
std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version);

/// A script for bash: `source <(thinpipe --completion bash)`. Needs nothing but bash itself.
std::string bash_completion(const Verb& command, const std::vector<Verb>& verbs);

}  // namespace thinpipe
