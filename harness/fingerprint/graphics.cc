#include "harness/fingerprint/graphics.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "harness/programs.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// "Model: \t\t NVIDIA H200"
std::string model_of(const fs::path& information) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Model:")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", 6);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Everything until the other end is closed; nothing when that takes too long.
std::optional<std::string> read_within(int file, std::chrono::seconds time) {
  const Clock::time_point until = Clock::now() + time;
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd waited{file, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) <= 0)
      return std::nullopt;
    char buffer[4096];
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

// A driver in trouble can keep nvidia-smi for minutes: it is not waited for that long.
std::optional<std::string> ask_driver(const std::string& query) {
  constexpr std::chrono::seconds kPatience(10);
  const std::optional<fs::path> program = find_in_path("nvidia-smi");
  int ends[2];
  if (!program || ::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const FileDescriptor reading(ends[0]), nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  FileDescriptor writing(ends[1]);
  pid_t child = 0;
  try {
    child = start_process(*program, {"--query-gpu=" + query, "--format=csv,noheader,nounits"}, -1,
                          writing.get(), nowhere.get());
  } catch (const SystemError&) {
    return std::nullopt;
  }
  writing.reset();
  const std::optional<std::string> text = read_within(reading.get(), kPatience);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return text && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::nullopt;
}

// " 1980" is of MHz; null for "[N/A]" and the like.
nlohmann::json hertz(const std::string& field) {
  const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
  const auto megahertz = parse_number<std::uint32_t>(std::string_view(field).substr(begin));
  return megahertz ? nlohmann::json(std::uint64_t{*megahertz} * 1'000'000) : nlohmann::json();
}

void add_clocks(nlohmann::json& card, nlohmann::json& now) {
  const auto answer = ask_driver(
      "clocks.max.sm,clocks.max.memory,clocks.applications.graphics,clocks.applications.memory,"
      "clocks.sm,clocks.memory");
  card["clocks"] = nullptr;
  if (!answer) return;
  nlohmann::json limits = nlohmann::json::array(), current = nlohmann::json::array();
  for (const std::string& line : split(*answer, '\n')) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() != 6) continue;
    limits.push_back({{"sm_hz", hertz(fields[0])},
                      {"memory_hz", hertz(fields[1])},
                      {"set_sm_hz", hertz(fields[2])},
                      {"set_memory_hz", hertz(fields[3])}});
    current.push_back({{"sm_hz", hertz(fields[4])}, {"memory_hz", hertz(fields[5])}});
  }
  if (limits.empty()) return;
  card["clocks"] = std::move(limits);
  now = std::move(current);
}

}  // namespace

nlohmann::json graphics_description(const fs::path& root) {
  nlohmann::json card, clocks;  // null
  std::ifstream version(root / "sys/module/nvidia/version");
  std::string driver;
  if (version >> driver) {
    std::vector<fs::path> cards;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", none))
      cards.push_back(entry.path());
    std::sort(cards.begin(), cards.end());
    nlohmann::json models = nlohmann::json::array();
    for (const fs::path& of : cards) models.push_back(model_of(of / "information"));
    card = {{"driver", driver}, {"models", models}};
    add_clocks(card, clocks);
  }
  return {{"card", card}, {"clocks", clocks}};
}

}  // namespace thinpipe
