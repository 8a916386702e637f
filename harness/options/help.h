// Help texts and the manual page, generated from the tables of the verbs.
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

}  // namespace thinpipe
