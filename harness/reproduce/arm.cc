#include "harness/reproduce/arm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "harness/programs.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "reports/record/reader.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFinished = "finished";

std::string typed(std::vector<std::string> words) {
  words.insert(words.begin(), "thinpipe");
  return shell_quoted(words);
}

bool resumes(const std::string& verb) { return verb == "train" || verb == "run"; }

// What a command that does not go on where it was has left half done.
void clear_records(const fs::path& folder) {
  std::error_code ignored;  // what cannot be removed the command will complain about
  for (const char* name : {kRecordFileName, kStatsFileName}) fs::remove(folder / name, ignored);
  fs::remove_all(folder / "trace", ignored);
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

void spell_out(nlohmann::json& printed) {
  if (!printed.is_object() || !printed.contains("points")) return;
  for (nlohmann::json& point : printed.at("points"))
    if (point.contains("axes") && point.at("axes").contains("compressor"))
      point["axes"]["compressor"] = spelt_out(point["axes"]["compressor"].get<std::string>());
}

}  // namespace

std::string spelt_out(const std::string& compressor) {
  try {
    const Spec spec = parse_spec(compressor);
    return Parameters(find_method(spec.name).parameters, spec).text();
  } catch (const InputError&) {  // rules by tensors' names, a plug-in's
    return compressor;
  }
}

std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place) {
  std::vector<std::string> placed = words;
  const std::string& verb = words.at(0);
  if (verb == "predict") {
    placed.emplace_back("--json");
  } else if (verb == "capture") {
    placed.insert(placed.end(), {"--out", place + "/trace"});
  } else {
    placed.insert(placed.end(), {"--out", place});
    if (resumes(verb)) placed.emplace_back("--resume");
  }
  return placed;
}

std::string command_of(const std::vector<std::string>& words, const std::string& place) {
  return typed(placed_words(words, place));
}

void refuse_other_command(const fs::path& folder, const std::vector<std::string>& words) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // what Linux lets a command line have by default
  std::error_code ignored;
  if (!fs::exists(folder / "command", ignored)) return;
  const std::string before =
      split(read_input(folder / "command", "an arm's command", kMaxBytes), '\n').front();
  if (!before.empty() && before != typed(words))
    throw InputError(folder.string() + " holds the records of another command (" + before +
                     "); choose another --out, or remove it");
}

bool is_finished(const fs::path& folder) { return fs::exists(folder / kFinished); }

std::string run_arm(const std::vector<std::string>& words, const std::string& place) {
  const fs::path folder = place;
  fs::create_directories(folder);
  write_output(folder / "command", typed(words) + "\n");
  if (!resumes(words.at(0))) clear_records(folder);
  const fs::path said = folder / "output";
  const FileDescriptor output(::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!output.valid()) throw SystemError("open " + said.string());
  const int status = wait_for_process(start_process(
      fs::read_symlink("/proc/self/exe"), placed_words(words, place), -1, output.get(), 2));
  if (stop_requested()) throw RunError("interrupted; the same command goes on from here");
  if (status != 0) return ending_of(status);
  write_output(folder / kFinished, "");
  return "";
}

ArmRecords read_arm(const RecipeArm& arm, bool quick, const std::string& place) {
  const fs::path folder = place;
  const std::vector<std::string>& words = arm.words(quick);
  ArmRecords read;
  read.label = arm.label;
  read.command = command_of(words, place);
  if (words.at(0) == "predict") {
    read.command += " > " + shell_quoted({place + "/output"});
    constexpr std::uint64_t kMaxBytes = 1 << 30;  // a million predicted points
    read.printed = nlohmann::json::parse(
        read_input(folder / "output", "what thinpipe predict printed", kMaxBytes), nullptr,
        /*allow_exceptions=*/false);
    if (read.printed.is_discarded()) read.printed = nullptr;
    spell_out(read.printed);
  } else if (fs::is_regular_file(folder / kStatsFileName)) {
    read.stats = find_trace_stats(folder / kStatsFileName);
  } else if (fs::is_regular_file(folder / kRecordFileName)) {
    read.records = read_records(folder);
    for (Point& point : read.records.points)
      point.axes.compressor = spelt_out(point.axes.compressor);
  }
  return read;
}

}  // namespace thinpipe
