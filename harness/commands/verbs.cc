#include "harness/commands/verbs.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "base/text.h"
#include "harness/options/arguments.h"
#include "harness/options/help.h"
#include "harness/options/terminal.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

/// The verb or group that the words name, and the remaining words.
struct Chosen {
  const Verb* verb = nullptr;        ///< nullptr for the command itself and for a group
  const VerbGroup* group = nullptr;  ///< a group without a verb
  std::vector<std::string> rest;
};

// Returns the verb or group of this name, or null.
template <class Named>
const Named* find_named(const std::vector<Named>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(split(verb.name, ' ')[0]);
  throw InputError("unknown command " + in_quotes(word) + " (see 'thinpipe --help')" +
                   did_you_mean(word, names));
}

bool is_option(const std::string& word) { return !word.empty() && word[0] == '-'; }

Chosen choose(const std::vector<std::string>& words) {
  const auto rest_from = [&](std::ptrdiff_t start) {
    return std::vector<std::string>(words.begin() + start, words.end());
  };
  if (words.empty() || is_option(words[0])) return {.rest = words};
  if (const Verb* verb = find_named(verbs(), words[0])) return {.verb = verb, .rest = rest_from(1)};
  const VerbGroup* group = find_named(verb_groups(), words[0]);
  if (!group) unknown_verb(words[0]);
  if (words.size() == 1 || is_option(words[1])) return {.group = group, .rest = rest_from(1)};
  if (const Verb* verb = find_named(verbs(), words[0] + " " + words[1]))
    return {.verb = verb, .rest = rest_from(2)};
  throw InputError("unknown command " + in_quotes(words[0] + " " + words[1]) + " (see 'thinpipe " +
                   words[0] + " --help')" +
                   did_you_mean(words[1], verbs_of_group(words[0], verbs())));
}

std::string text_without_verb(const VerbGroup* group, const Arguments& arguments) {
  if (group) {
    if (!arguments.help())
      throw InputError("'" + group->name + "' needs a command; see 'thinpipe " + group->name +
                       " --help'");
    return group_help(*group, verbs());
  }
  if (arguments.help()) return command_help(command_verb(), verbs(), verb_groups());
  if (arguments.flag("version")) return "thinpipe " THINPIPE_VERSION "\n";
  if (arguments.flag("man")) return man_page(command_verb(), verbs(), THINPIPE_VERSION);
  if (arguments.given("completion")) return completion_script(arguments.text("completion"));
  throw InputError("a command is missing; see 'thinpipe --help'");
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

// Runs `work` and stores its error in `command`.
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
    fail(error.what(), stop_requested() ? 128 + stop_signal() : int{kExitFailed});
  } catch (const std::bad_alloc&) {
    fail("out of memory", kExitFailed);
  } catch (const std::exception& error) {
    fail(std::string("internal error: ") + error.what(), kExitFailed);
  }
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs{
      // clang-format off
      list_verb(),
      doctor_verb(),
      capture_verb(),
      trace_info_verb(),
      trace_verify_verb(),
      trace_stats_verb(),
      trace_import_verb(),
      trace_export_verb(),
      trace_slice_verb(),
      trace_merge_verb(),
      run_verb(),
      train_verb(),
      reproduce_verb(),
      predict_verb(),
      advise_verb(),
      bench_verb(),
      gate_verb(),
      export_verb(),
      merge_verb(),
      history_verb(),
      report_verb(),
      net_show_verb(),
      net_verify_verb(),
      net_play_verb(),
      net_exec_verb(),
      net_torchrun_verb(),
      net_mpirun_verb(),
      net_restore_verb(),
      compress_verb(),
      decompress_verb(),
      quality_verb(),
      // clang-format on
  };
  return kVerbs;
}

const std::vector<VerbGroup>& verb_groups() {
  static const std::vector<VerbGroup> kGroups{
      {.name = "trace", .summary = "Inspect, import, export and edit gradient traces"},
      {.name = "net", .summary = "Inspect, verify and use emulated networks"},
  };
  return kGroups;
}

const Verb& command_verb() {
  static const Verb kCommand{
      .name = "",
      .summary = "measure cost, quality and break-even rate of gradient compressors",
      .description =
          "Replays captured gradients through compressors while the links between real MPI ranks "
          "are throttled, and measures every step. Needs no root privileges where the kernel "
          "allows unprivileged user namespaces; `thinpipe doctor` checks that.",
      .options = {{.name = "version", .help = "print the version"},
                  {.name = "man", .help = "print the manual page (roff)"},
                  choice_option("completion", "SHELL", "", completion_shells(),
                                "print the completion script for a shell")},
      .examples = {
          {"Enable completion in the current bash", "source <(thinpipe --completion bash)"},
          {"Enable completion in the current zsh", "source <(thinpipe --completion zsh)"},
          {"Enable completion in the current fish", "thinpipe --completion fish | source"}}};
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
  ReadCommand command;
  if (!words.empty() && words.front() == "--complete") {  // for the scripts of completion.cc
    const std::vector<std::string> typed(words.begin() + 1, words.end());
    command.action = [typed] {
      write_stdout(completion_lines(complete(command_verb(), verbs(), typed)));
      return kExitGood;
    };
  } else {
    command = read_command(words);
  }
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
