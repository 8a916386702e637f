#include "harness/train/rank_state.h"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/output_file.h"
#include "compressors/wire/bytes.h"
#include "compressors/wire/crc32c.h"
#include "workloads/replay/states.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {

namespace {

constexpr std::uint64_t kMagic = 0x31304b4e41525054;  // "TPRANK01"

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

void append_number(auto number, std::vector<std::byte>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof number);
  std::memcpy(bytes.data() + at, &number, sizeof number);
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
    throw InputError(fmt::format("{}: {} bytes are no checkpoint", file.string(), bytes.size()));
  const auto body = bytes.first(bytes.size() - sizeof sum);
  std::memcpy(&sum, bytes.data() + body.size(), sizeof sum);
  ByteReader reader(body);
  if (reader.get<std::uint64_t>("magic") != kMagic)
    throw InputError(file.string() + ": not a checkpoint of thinpipe train, or of another version");
  if (crc32c(body) != sum)
    throw InputError(file.string() + ": damaged: its checksum is not that of its bytes");
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

}  // namespace thinpipe
