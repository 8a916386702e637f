// Fuzzes the words that a shell passes to `thinpipe`, each ended by a zero byte as in
// /proc/PID/cmdline. `@` is a folder of valid and damaged files. The command must be accepted, or
// refused with an error of a few lines. No command is executed: Verb::prepare turns a verb's texts
// into checked types, and the action that it returns is dropped.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "base/visible.h"
#include "harness/commands/verbs.h"
#include "tests/base/support.h"
#include "tests/fuzz/input.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe::fuzz {
namespace {

constexpr std::size_t kLongestError = 2048;  // bytes; a screen of 80 columns has 1920
// Alternatives multiply: 7 options of two each are 128 points; a user may wish for more.
constexpr std::ptrdiff_t kMaxAlternatives = 7;

// Files of every kind that an option names.
void write_files(const std::filesystem::path& folder) {
  const auto write = [&](const char* file, const std::string& text) {
    std::ofstream(folder / file, std::ios::binary) << text;
  };
  write_sample_trace(folder / "trace", {.shapes = {{3, 2}, {5}}, .ranks = 2, .steps = 1});
  std::filesystem::copy(folder / "trace", folder / "damaged",
                        std::filesystem::copy_options::recursive);
  write("damaged/trace.json", "{\"model\": \"m\", \"tensors\": [{");
  std::filesystem::create_directory(folder / "records");
  write("records/records.jsonl",
        R"({"command": [], "created": "", "fingerprint": {}, "kind": "bench", "record": "header", )"
        R"("seed": 1, "simd": "", "threads": 1, "version": 1})"
        "\n"
        R"({"axes": {"compressor": "3lc", "device": "cpu", "elements": 9, "method": "3lc", )"
        R"("residency": "cache", "tensor": "laplace", "threads": 1}, "id": "3lc/laplace:9", )"
        R"("metrics": {"passes": {"better": "lower", "kind": "exact", "samples": [2.0], )"
        R"("unit": "1"}}, "reasons": [], "record": "point", "status": "ok"})"
        "\n");
  write("damaged/records.jsonl", "{\"record\": \"header\", \"kind\": 1}\n{\"rec");
  write("hosts", "node1 slots=1\nnode2\n# none\n");
  write("table.csv", "time_s,rate_mbit,delay_ms,loss_percent\n0,10,20,0\n1.5,5,40,2.5\n");
  write("mahimahi", "1\n2\n2\n40\n90\n");
  write("parts", "# a schedule\noutage:every=10s,lasts=1s\nhost1:steps:0s=50%\n");
  write("net", "switch a hosts=2\nswitch b hosts=1\nlink a b rate=10mbit\n");
  write("policy.ini", "[policy]\nmargin = 2%\n[metric encode_time]\nmargin = 5%\n");
  write("library.so", std::string("\177ELF\2\1\1", 7) + std::string(60, '\0'));
  write("empty", "");
}

// Made once a process.
const std::string& folder() {
  static const TemporaryFolder temporary;
  static const std::string path = [] {
    write_files(temporary.path());
    return temporary.path().string();
  }();
  return path;
}

std::vector<std::string> words_of(std::string_view bytes) {
  std::vector<std::string> words = split(bytes, '\0');
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) {
    const std::size_t place = word.find('@');
    if (place != std::string::npos) word.replace(place, 1, folder());
  }
  return words;
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (std::count(bytes.begin(), bytes.end(), '|') > fuzz::kMaxAlternatives) return 0;
  const ReadCommand command = read_command(fuzz::words_of(bytes));
  const std::string& error = command.error;
  fuzz::require(!error.starts_with(command.who + ": internal error"), error);
  fuzz::require(error.empty() != (command.action == nullptr), "an action, or an error");
  fuzz::require(command.action || command.code == kExitUsage || command.code == kExitFailed,
                "a code for errors");
  fuzz::require(error.size() <= fuzz::kLongestError, "a short error: " + error);
  fuzz::require(error == visible_text(error), "nothing in it that a terminal obeys: " + error);
  return 0;
}
