#include "harness/reproduce/reproduce.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "harness/programs.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "reports/record/reader.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::string command_line(std::vector<std::string> words) {
  words.insert(words.begin(), "thinpipe");
  return shell_quoted(words);
}

// Records of a quick try and of the whole would be taken for each other's.
void refuse_other_command(const fs::path& folder, const std::string& command) {
  const fs::path note = folder / "command";
  std::ifstream stream(note);
  std::string before;
  if (stream && std::getline(stream, before) && before != command)
    throw InputError(folder.string() + " holds the records of another command (" + before +
                     "); choose another --out, or remove it");
  fs::create_directories(folder);
  std::ofstream kept(note);
  kept << command << "\n";
  if (!kept.flush()) throw SystemError("write " + note.string());
}

void train(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.end(), {"--out", folder.string(), "--resume"});
  const fs::path said = folder / "output";
  const FileDescriptor output(::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!output.valid()) throw SystemError("open " + said.string());
  const int status = wait_for_process(
      start_process(fs::read_symlink("/proc/self/exe"), words, -1, output.get(), 2));
  if (stop_requested()) throw RunError("interrupted; the same command goes on from here");
  if (WIFSIGNALED(status))
    throw RunError(fmt::format("killed by signal {}: {}", WTERMSIG(status), command_line(words)));
  if (!fs::exists(folder / kRecordFileName))
    throw RunError(fmt::format("exit code {}: {}", WEXITSTATUS(status), command_line(words)));
}

}  // namespace

std::vector<std::string> arm_words(const Recipe& recipe, const RecipeArm& arm, bool quick) {
  std::vector<std::string> words{"train"};
  for (const auto* more : {&recipe.common, quick ? &recipe.quick : &recipe.full, &arm.words})
    words.insert(words.end(), more->begin(), more->end());
  const std::string& optimiser = arm.optimiser.empty() ? recipe.optimiser : arm.optimiser;
  words.insert(words.end(), {"--optimiser", optimiser, "-c", arm.compressor, "--no-baseline"});
  return words;
}

fs::path arm_folder(const fs::path& out, const Recipe& recipe, const RecipeArm& arm) {
  return out / recipe.name / plain_file_name(arm.label);
}

Reproduction carry_out(const Recipe& recipe, const fs::path& out, bool quick) {
  Reproduction result{.name = recipe.name,
                      .title = recipe.title,
                      .source = recipe.source,
                      .here = recipe.here,
                      .arms = {},
                      .findings = {}};
  for (std::size_t i = 0; i < recipe.arms.size(); ++i) {
    const RecipeArm& arm = recipe.arms[i];
    const std::vector<std::string> words = arm_words(recipe, arm, quick);
    const fs::path folder = arm_folder(out, recipe, arm);
    refuse_other_command(folder, command_line(words));
    fmt::print(stderr, "{} {} of {}: {}\n", recipe.name, i + 1, recipe.arms.size(), arm.label);
    train(folder, words);
    result.arms.push_back(
        arm_figures(arm.label, arm.paper, command_line(words), read_records(folder)));
  }
  for (const Expectation& expected : recipe.expectations)
    result.findings.push_back(judge(expected, result.arms));
  const fs::path page = out / (recipe.name + ".md");
  std::ofstream stream(page);
  stream << reproduction_page(result);
  if (!stream.flush()) throw SystemError("write " + page.string());
  return result;
}

}  // namespace thinpipe
