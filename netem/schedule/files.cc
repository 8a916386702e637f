#include "netem/schedule/files.h"

#include <cstdint>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace thinpipe {

namespace {

constexpr std::uintmax_t kLargestFile = 256'000'000;

std::string fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

}  // namespace

ScheduleFile read_schedule_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("schedule file '{}': there is no such file", path.string()));
  if (std::filesystem::file_size(path, error) > kLargestFile)
    throw InputError(fmt::format("schedule file '{}': larger than {} MB", path.string(),
                                 kLargestFile / 1'000'000));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw InputError(fmt::format("schedule file '{}': cannot be read", path.string()));
  ScheduleFile result{std::move(content).str(), ""};
  result.digest = fnv1a(result.text);
  return result;
}

}  // namespace thinpipe
