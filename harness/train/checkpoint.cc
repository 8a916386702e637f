#include "harness/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "compressors/wire/bytes.h"
#include "compressors/wire/checks.h"
#include "harness/train/series.h"
#include "netem/file_descriptor.h"
#include "workloads/replay/message.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMagic = 0x31304b4e41525054;  // "TPRANK01"
constexpr std::string_view kPrefix = "step-";

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

void append_number(auto number, std::vector<std::byte>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof number);
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// Returns the FNV-1a hash of the id, which is too long for a file name and has slashes in it.
std::string folder_name(const std::string& id) {
  Digest digest;
  digest.add(std::as_bytes(std::span(id)));
  return digest.text();
}

std::string checkpoint_name(std::uint64_t next_step) { return fmt::format("step-{}", next_step); }

std::optional<std::uint64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return parse_number<std::uint64_t>(std::string_view(name).substr(kPrefix.size()));
}

void flush_to_device(const fs::path& path, int flags) {
  const FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  // Some file systems cannot flush a folder (EINVAL), which is accepted.
  if (!file.valid() || (fsync(file.get()) != 0 && errno != EINVAL))
    throw SystemError("flush " + path.string());
}

}  // namespace

std::string rank_identity(const std::string& training, int rank) {
  return fmt::format("{}|rank {}", training, rank);
}

void write_rank_state(const std::filesystem::path& file, const std::string& identity,
                      const RankState& state) {
  std::vector<std::byte> bytes;
  append_number(kMagic, bytes);
  append_number(state.next_step, bytes);
  append_piece(std::as_bytes(std::span(identity)), bytes);
  append_piece(state.learner, bytes);
  append_piece(state.compressors, bytes);
  append_piece(state.estimate, bytes);
  append_number(crc32c(bytes), bytes);
  OutputFile out(file);
  out.write(bytes);
  out.flush();
  out.commit();
}

RankState read_rank_state(const std::filesystem::path& file, const std::string& identity) {
  const MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  std::uint32_t sum = 0;
  if (bytes.size() < sizeof sum + sizeof kMagic)
    throw InputError(fmt::format("{}: damaged: {} bytes are too few", file.string(), bytes.size()));
  const auto body = bytes.first(bytes.size() - sizeof sum);
  std::memcpy(&sum, bytes.data() + body.size(), sizeof sum);
  ByteReader reader(body);
  if (reader.get<std::uint64_t>("magic") != kMagic)
    throw InputError(file.string() + ": not a checkpoint of this version of thinpipe train");
  if (crc32c(body) != sum)
    throw InputError(file.string() + ": damaged: its checksum does not match its bytes");
  RankState state;
  state.next_step = reader.get<std::uint64_t>("step");
  const auto found = take_piece(reader);
  if (const std::string of(reinterpret_cast<const char*>(found.data()), found.size());
      of != identity)
    throw InputError(
        fmt::format("{}: a checkpoint of '{}', expected '{}'", file.string(), of, identity));
  state.learner = copied(take_piece(reader));
  state.compressors = copied(take_piece(reader));
  state.estimate = copied(take_piece(reader));
  reader.expect_end();
  return state;
}

nlohmann::json write_rank_state(const nlohmann::json& message, int rank, const RankState& state) {
  write_rank_state(rank_file(message.at("folder").get<std::string>(), rank),
                   rank_identity(message.at("id"), rank), state);
  return {{"type", "saved"}};
}

RankState read_rank_state(const nlohmann::json& message, int rank) {
  return read_rank_state(rank_file(message.at("folder").get<std::string>(), rank),
                         rank_identity(message.at("id"), rank));
}

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
  constexpr std::uint64_t kMaxBytes = 1 << 30;  // a series of about ten million steps
  const nlohmann::json point =
      parse_json_strictly(read_input(file, "a checkpoint's point", kMaxBytes), file.string());
  const JsonField field(point, file.string());
  if (field.at("id").string() != id_)
    field.at("id").fail(fmt::format("found {}, expected '{}'", describe_json(point["id"]), id_));
  const std::uint64_t steps = TrainSeries::from_json(field.at("series")).steps();
  if (steps != found.next_step)
    field.at("series").fail(fmt::format("after {} steps, expected {}", steps, found.next_step));
  field.at("worst_error").number(0, std::numeric_limits<double>::max());
  field.at("checked_steps").unsigned_integer();
  if (field.has("sum_error")) {
    if (!point["sum_error"].is_null())
      field.at("sum_error").number(0, std::numeric_limits<double>::max());
    field.at("sum_error_of_bound").number(0, std::numeric_limits<double>::max());
    field.at("shared").boolean();
  }
  field.at("digest").string();
  const JsonField resumed = field.at("resumed");
  for (std::size_t i = 0; i < resumed.size(); ++i) resumed.at(i).unsigned_integer();
  if (field.has("warnings"))
    for (std::size_t i = 0; i < field.at("warnings").size(); ++i)
      field.at("warnings").at(i).string();
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
    throw InputError(
        fmt::format("{}; restore the file, or remove {} to train this point from its first step",
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
  write_output(partial / "point.json", point.dump() + "\n");
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
  fs::remove(folder_.parent_path(), none);  // fails while other points' folders are in it
}

fs::path rank_file(const fs::path& checkpoint, int rank) {
  return checkpoint / fmt::format("rank-{}", rank);
}

}  // namespace thinpipe
