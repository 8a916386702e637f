// The command `thinpipe`: finds the verb, runs it, turns errors into messages and exit codes.
#include "harness/commands/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

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
  throw InputError("unknown verb " + in_quotes(word) + did_you_mean(word, names));
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
  throw InputError("unknown verb " + in_quotes(words[0] + " " + words[1]) +
                   did_you_mean(words[1], verbs_of_group(words[0], verbs())));
}

std::string text_without_verb(const VerbGroup* group, const Arguments& arguments) {
  if (group) {
    if (!arguments.help()) {
      throw InputError("'" + group->name + "' needs a verb; see 'thinpipe " + group->name +
                       " --help'");
    }
    return group_help(*group, verbs());
  }
  if (arguments.help()) return command_help(command_verb(), verbs(), verb_groups());
  if (arguments.flag("version")) return "thinpipe " THINPIPE_VERSION "\n";
  if (arguments.flag("man")) return man_page(command_verb(), verbs(), THINPIPE_VERSION);
  if (arguments.given("completion")) return bash_completion(command_verb(), verbs());
  throw InputError("a verb is missing; see 'thinpipe --help'");
}

Action printing(const std::string& text) {
  return [text] {
    write_stdout(text);
    return kExitGood;
  };
}

Action prepared(const Chosen& chosen) {
  const Verb& verb = chosen.verb ? *chosen.verb : command_verb();
  const auto arguments = std::make_shared<const Arguments>(verb, chosen.rest);
  if (!chosen.verb) return printing(text_without_verb(chosen.group, *arguments));
  if (arguments->help()) return printing(verb_help(verb));
  return [arguments, action = verb.prepare(*arguments)] { return action(); };
}

// Runs `work`; `command` holds its error afterwards.
void guarded(ReadCommand& command, const std::function<void()>& work) {
  const auto fail = [&](const std::string& message, int code) {
    command.action = nullptr;
    command.code = code;
    command.error = for_stream(STDERR_FILENO, command.who + ": " + message);
  };
  try {
    work();
  } catch (const OutputClosed&) {
  } catch (const InputError& error) {
    fail(error.what(), kExitUsage);
  } catch (const RunError& error) {
    fail(error.what(), kExitFailed);
  } catch (const std::bad_alloc&) {
    fail("out of memory", kExitFailed);
  } catch (const std::exception& error) {
    fail(std::string("internal error: ") + error.what(), kExitFailed);
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

ReadCommand read_command(const std::vector<std::string>& words) {
  ReadCommand command;
  guarded(command, [&] {
    const Chosen chosen = choose(words);
    if (chosen.verb) command.who += " " + chosen.verb->name;
    if (chosen.group) command.who += " " + chosen.group->name;
    command.action = prepared(chosen);
  });
  return command;
}

int run_command(const std::vector<std::string>& words) {
  ReadCommand command = read_command(words);
  if (const Action action = std::exchange(command.action, nullptr)) {
    guarded(command, [&] {
      command.code = action();
      flush_stdout();
    });
  }
  if (!command.error.empty()) std::fprintf(stderr, "%s\n", command.error.c_str());
  return command.code;
}

}  // namespace thinpipe
