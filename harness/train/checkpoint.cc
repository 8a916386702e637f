#include "harness/train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/file_descriptor.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step-";

// FNV-1a: an id is longer than a name may be, and has slashes in it.
std::string folder_name(const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string checkpoint_name(std::uint64_t next_step) { return fmt::format("step-{}", next_step); }

std::optional<std::uint64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || rest != end) return std::nullopt;
  return step;
}

void flush_to_device(const fs::path& path, int flags) {
  const FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  // Some file systems cannot flush a folder; there is nothing to be done about those.
  if (!file.valid() || (fsync(file.get()) != 0 && errno != EINVAL))
    throw SystemError("flush " + path.string());
}

}  // namespace

Checkpoints::Checkpoints(const fs::path& out, const std::string& point_id)
    : folder_(out / "checkpoints" / folder_name(point_id)), id_(point_id) {}

std::optional<Checkpoints::Found> Checkpoints::last() const {
  std::optional<Found> last;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none))
    if (const auto step = step_of(entry.path().filename().string());
        step && (!last || *step > last->next_step))
      last = Found{entry.path(), *step};
  return last;
}

nlohmann::json Checkpoints::point_of(const Found& found) const {
  const fs::path file = found.folder / "point.json";
  std::ifstream stream(file);
  const nlohmann::json point = nlohmann::json::parse(stream, nullptr, false);
  if (!point.is_object() || !point.contains("id") || !point.contains("series"))
    throw InputError(file.string() + ": expected what a checkpoint of thinpipe train has there");
  if (point.at("id") != id_)
    throw InputError(fmt::format("{}: of the point '{}', expected '{}'", file.string(),
                                 point.at("id").dump(), id_));
  return point;
}

fs::path Checkpoints::begin(std::uint64_t next_step) const {
  const fs::path partial = folder_ / (checkpoint_name(next_step) + ".partial");
  std::error_code failure;
  fs::remove_all(partial, failure);
  fs::create_directories(partial, failure);
  if (failure) throw SystemError("create folder " + partial.string(), failure.value());
  return partial;
}

void Checkpoints::finish(std::uint64_t next_step, nlohmann::json point) const {
  const fs::path whole = folder_ / checkpoint_name(next_step);
  const fs::path partial = whole.string() + ".partial";
  point["id"] = id_;
  {
    std::ofstream stream(partial / "point.json");
    stream << point.dump() << "\n";
    if (!stream.flush()) throw SystemError("write " + (partial / "point.json").string());
  }
  flush_to_device(partial / "point.json", O_RDONLY);
  flush_to_device(partial, O_RDONLY | O_DIRECTORY);
  std::error_code failure;
  fs::remove_all(whole, failure);
  fs::rename(partial, whole, failure);
  if (failure) throw SystemError("rename " + partial.string(), failure.value());
  flush_to_device(folder_, O_RDONLY | O_DIRECTORY);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failure))
    if (entry.path() != whole) fs::remove_all(entry.path(), failure);
}

void Checkpoints::remove() const {
  std::error_code none;
  fs::remove_all(folder_, none);
  fs::remove(folder_.parent_path(), none);  // unless others are in it
}

fs::path rank_file(const fs::path& checkpoint, int rank) {
  return checkpoint / fmt::format("rank-{}", rank);
}

}  // namespace thinpipe
