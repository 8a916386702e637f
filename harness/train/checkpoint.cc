#include "harness/train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/train/rank_state.h"
#include "harness/train/series.h"
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
  if (!stream) throw InputError(file.string() + ": is missing, or cannot be opened");
  const nlohmann::json point = nlohmann::json::parse(stream, nullptr, false);
  if (!point.is_object())
    throw InputError(file.string() + ": damaged: expected what thinpipe train writes there");
  try {
    if (point.at("id") != id_)
      throw InputError(fmt::format("{}: of the point {}, expected '{}'", file.string(),
                                   point.at("id").dump(), id_));
    const std::uint64_t steps = TrainSeries::from_json(point.at("series")).steps();
    if (steps != found.next_step)
      throw InputError(
          fmt::format("{}: after {} steps, expected {}", file.string(), steps, found.next_step));
    point.at("worst_error").get<double>();
    point.at("checked_steps").get<std::size_t>();
    point.at("digest").get<std::string>();
    point.at("resumed").get<std::vector<std::uint64_t>>();
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: damaged, or of another version of thinpipe: {}", file.string(),
                                 error.what()));
  }
  return point;
}

void Checkpoints::check_last(const std::string& identity, int hosts) const {
  const std::optional<Found> found = last();
  if (!found) return;
  try {
    point_of(*found);
    for (int rank = 0; rank < hosts; ++rank) {
      const fs::path file = rank_file(found->folder, rank);
      const std::uint64_t step = read_rank_state(file, rank_identity(identity, rank)).next_step;
      if (step != found->next_step)
        throw InputError(
            fmt::format("{}: after {} steps, expected {}", file.string(), step, found->next_step));
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format(
        "{}; put back the file as it was, or remove {} to train this point from its first step",
        error.what(), folder_.string()));
  }
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
