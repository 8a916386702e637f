// The command `thinpipe`: finds the verb, runs it, turns errors into messages and exit codes.
#include "harness/commands/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "harness/commands/output.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/completion.h"
#include "harness/options/help.h"
#include "harness/options/layout.h"
#include "harness/options/man.h"

namespace thinpipe {
namespace {

/// What the words ask for, and the rest of them.
struct Chosen {
  const Verb* verb = nullptr;        ///< nullptr: the command itself or a group
  const VerbGroup* group = nullptr;  ///< a group without a verb
  std::vector<std::string> rest;
};

const Verb* find_verb(const std::string& name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(),
                                  [&](const Verb& verb) { return verb.name == name; });
  return found == verbs().end() ? nullptr : &*found;
}

const VerbGroup* find_group(const std::string& name) {
  const auto found = std::find_if(verb_groups().begin(), verb_groups().end(),
                                  [&](const VerbGroup& group) { return group.name == name; });
  return found == verb_groups().end() ? nullptr : &*found;
}

[[noreturn]] void unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(split(verb.name, ' ')[0]);
  throw InputError("unknown verb '" + word + "'" + did_you_mean(word, names));
}

bool is_option(const std::string& word) { return !word.empty() && word[0] == '-'; }

Chosen choose(const std::vector<std::string>& words) {
  const auto rest_from = [&](std::ptrdiff_t start) {
    return std::vector<std::string>(words.begin() + start, words.end());
  };
  if (words.empty() || is_option(words[0])) return {.rest = words};
  if (const Verb* verb = find_verb(words[0])) return {.verb = verb, .rest = rest_from(1)};
  const VerbGroup* group = find_group(words[0]);
  if (!group) unknown_verb(words[0]);
  if (words.size() == 1 || is_option(words[1])) return {.group = group, .rest = rest_from(1)};
  if (const Verb* verb = find_verb(words[0] + " " + words[1])) {
    return {.verb = verb, .rest = rest_from(2)};
  }
  throw InputError("unknown verb '" + words[0] + " " + words[1] + "'" +
                   did_you_mean(words[1], verbs_of_group(words[0], verbs())));
}

int run_without_verb(const Chosen& chosen) {
  const Arguments arguments(command_verb(), chosen.rest);
  if (chosen.group) {
    if (!arguments.help()) {
      throw InputError("'" + chosen.group->name + "' needs a verb; see 'thinpipe " +
                       chosen.group->name + " --help'");
    }
    write_stdout(group_help(*chosen.group, verbs()));
  } else if (arguments.help()) {
    write_stdout(command_help(command_verb(), verbs(), verb_groups()));
  } else if (arguments.flag("version")) {
    write_stdout("thinpipe " THINPIPE_VERSION "\n");
  } else if (arguments.flag("man")) {
    write_stdout(man_page(command_verb(), verbs(), THINPIPE_VERSION));
  } else if (arguments.given("completion")) {
    write_stdout(bash_completion(command_verb(), verbs()));
  } else {
    throw InputError("a verb is missing; see 'thinpipe --help'");
  }
  return kExitGood;
}

int run_chosen(const Chosen& chosen) {
  if (!chosen.verb) return run_without_verb(chosen);
  const Arguments arguments(*chosen.verb, chosen.rest);
  if (!arguments.help()) return chosen.verb->run(arguments);
  write_stdout(verb_help(*chosen.verb));
  return kExitGood;
}

int complain(const std::string& who, const std::string& message, int code) {
  const std::string said = for_stream(STDERR_FILENO, who + ": " + message);
  std::fprintf(stderr, "%s\n", said.c_str());
  return code;
}

// Runs `work` and says what went wrong, in the name of `who`.
int guarded(const std::string& who, const std::function<int()>& work) {
  try {
    const int code = work();
    flush_stdout();
    return code;
  } catch (const OutputClosed&) {
    return kExitGood;
  } catch (const InputError& error) {
    return complain(who, error.what(), kExitUsage);
  } catch (const RunError& error) {
    return complain(who, error.what(), kExitFailed);
  } catch (const std::bad_alloc&) {
    return complain(who, "out of memory", kExitFailed);
  } catch (const std::exception& error) {
    return complain(who, std::string("internal error: ") + error.what(), kExitFailed);
  }
}

}  // namespace

const Verb& command_verb() {
  static const Verb kCommand{
      .name = "",
      .summary = "what a gradient compressor costs, what it keeps, where it pays",
      .description =
          "Replays captured gradients through compressors while the links between real MPI ranks "
          "are throttled, and measures every step. Needs no root where the kernel lets an ordinary "
          "user make namespaces; `thinpipe doctor` says.",
      .options = {{.name = "version", .help = "print the version"},
                  {.name = "man", .help = "print the manual page (roff)"},
                  {.name = "completion",
                   .value_name = "SHELL",
                   .type = OptionInfo::Type::kChoice,
                   .help = "print a completion script for a shell",
                   .choices = {"bash"}}},
      .examples = {
          {"Complete verbs and options in this shell", "source <(thinpipe --completion bash)"}}};
  return kCommand;
}

int run_command(const std::vector<std::string>& words) {
  Chosen chosen;
  const int code = guarded("thinpipe", [&] {
    chosen = choose(words);
    return int{kExitGood};
  });
  if (code != kExitGood) return code;
  std::string who = "thinpipe";
  if (chosen.verb) who += " " + chosen.verb->name;
  if (chosen.group) who += " " + chosen.group->name;
  return guarded(who, [&] { return run_chosen(chosen); });
}

}  // namespace thinpipe
