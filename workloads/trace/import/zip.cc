#include "workloads/trace/import/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50;
constexpr std::uint32_t kCentral = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kCentralBytes = 46, kLocalBytes = 30, kLocatorBytes = 20,
                      kEnd64Bytes = 56;
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint32_t kElsewhere = 0xffffffff;  // the true value is in a ZIP64 field
constexpr std::uint16_t kElsewhere16 = 0xffff;
// Deflate's densest code is one bit for 258 bytes and one for their distance: 1032 to 1.
constexpr std::uint64_t kDensest = 1032;

/// Numbers at places of the archive; every place is checked.
class Archive {
 public:
  Archive(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  std::uint64_t size() const { return bytes_.size(); }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(name_ + ": " + what); }

  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size, const char* what) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      fail(fmt::format("{}: bytes {} to {} + {}, but the file has {}; is it truncated?", what, at,
                       at, size, bytes_.size()));
    }
    return bytes_.subspan(at, size);
  }
  template <class T>
  T get(std::uint64_t at, const char* what) const {
    T value;
    std::memcpy(&value, part(at, sizeof value, what).data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

/// Where the central directory is.
struct DirectoryPlace {
  std::uint64_t offset = 0;
  std::uint64_t members = 0;
};

std::uint64_t find_end(const Archive& archive) {
  constexpr std::uint64_t kLongestComment = 65535;
  if (archive.size() < kEndBytes) archive.fail("no ZIP archive: shorter than its last record");
  const std::uint64_t last = archive.size() - kEndBytes;
  const std::uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (archive.get<std::uint32_t>(at, "end record") != kEnd) continue;
    if (at + kEndBytes + archive.get<std::uint16_t>(at + 20, "end record") == archive.size()) {
      return at;
    }
  }
  archive.fail("no ZIP archive, or a truncated one: no end record");
}

DirectoryPlace find_directory(const Archive& archive) {
  const std::uint64_t end = find_end(archive);
  if (archive.get<std::uint16_t>(end + 4, "end record") != 0 ||
      archive.get<std::uint16_t>(end + 6, "end record") != 0) {
    archive.fail("end record: the archive spans several disks");
  }
  DirectoryPlace place{archive.get<std::uint32_t>(end + 16, "end record"),
                       archive.get<std::uint16_t>(end + 10, "end record")};
  const bool large = place.offset == kElsewhere || place.members == kElsewhere16;
  if (!large || end < kLocatorBytes) return place;
  const std::uint64_t locator = end - kLocatorBytes;
  if (archive.get<std::uint32_t>(locator, "ZIP64 locator") != kLocator64) return place;
  const auto end64 = archive.get<std::uint64_t>(locator + 8, "ZIP64 locator");
  archive.part(end64, kEnd64Bytes, "ZIP64 end record");
  if (archive.get<std::uint32_t>(end64, "ZIP64 end record") != kEnd64) {
    archive.fail("ZIP64 end record: not where the locator says");
  }
  return {archive.get<std::uint64_t>(end64 + 48, "ZIP64 end record"),
          archive.get<std::uint64_t>(end64 + 32, "ZIP64 end record")};
}

/// What the ZIP64 field of a member gives for the values that did not fit 32 bits, in their order.
void read_extra64(const Archive& archive, std::span<const std::byte> extra, const std::string& what,
                  std::initializer_list<std::uint64_t*> values) {
  std::size_t at = 0;
  std::optional<std::span<const std::byte>> field;
  while (!field && extra.size() - at >= 4) {
    std::uint16_t id = 0, size = 0;
    std::memcpy(&id, extra.data() + at, sizeof id);
    std::memcpy(&size, extra.data() + at + 2, sizeof size);
    at += 4;
    if (size > extra.size() - at) archive.fail(what + ": an extra field reaches beyond its place");
    if (id == kExtra64) field = extra.subspan(at, size);
    at += size;
  }
  for (std::uint64_t* value : values) {
    if (*value != kElsewhere) continue;
    if (!field || field->size() < sizeof *value) archive.fail(what + ": no ZIP64 sizes");
    std::memcpy(value, field->data(), sizeof *value);
    *field = field->subspan(sizeof *value);
  }
}

/// Reads the member at `at` of the central directory and moves `at` behind it.
ZipMember read_member(const Archive& archive, std::uint64_t& at) {
  const auto header = archive.part(at, kCentralBytes, "central directory");
  const auto number = [&]<class T>(T value, std::size_t place) {
    std::memcpy(&value, header.data() + place, sizeof value);
    return value;
  };
  constexpr std::uint16_t k16 = 0;
  constexpr std::uint32_t k32 = 0;
  if (number(k32, 0) != kCentral) archive.fail("central directory: no member where one should be");
  const std::uint16_t name_bytes = number(k16, 28), extra_bytes = number(k16, 30),
                      comment_bytes = number(k16, 32);
  ZipMember member;
  const auto name = archive.part(at + kCentralBytes, name_bytes, "central directory");
  member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  const std::string what = "member '" + printable(member.name) + "'";
  if ((number(k16, 8) & 1) != 0) archive.fail(what + ": it is encrypted");
  const std::uint16_t method = number(k16, 10);
  if (method != 0 && method != 8) {
    archive.fail(
        fmt::format("{}: method: found {}, expected 0 (stored) or 8 (deflated)", what, method));
  }
  member.deflated = method == 8;
  member.crc = number(k32, 16);
  std::uint64_t packed = number(k32, 20), local = number(k32, 42);
  member.size = number(k32, 24);
  const auto extra =
      archive.part(at + kCentralBytes + name_bytes, extra_bytes, "central directory");
  read_extra64(archive, extra, what, {&member.size, &packed, &local});
  at += kCentralBytes + name_bytes + extra_bytes + std::uint64_t{comment_bytes};

  if (archive.get<std::uint32_t>(local, "local header") != kLocal) {
    archive.fail(what + ": no local header where the directory says");
  }
  const std::uint64_t begin = local + kLocalBytes +
                              archive.get<std::uint16_t>(local + 26, "local header") +
                              archive.get<std::uint16_t>(local + 28, "local header");
  member.packed = archive.part(begin, packed, "packed bytes");
  if (!member.deflated && packed != member.size) {
    archive.fail(fmt::format("{}: stored in {} bytes, expected {}", what, packed, member.size));
  }
  if (member.deflated && member.size / kDensest > packed) {
    archive.fail(fmt::format("{}: {} bytes cannot unpack to {}", what, packed, member.size));
  }
  return member;
}

}  // namespace

std::vector<ZipMember> parse_zip(std::span<const std::byte> bytes, const std::string& name) {
  const Archive archive(bytes, name);
  const DirectoryPlace place = find_directory(archive);
  if (place.members > archive.size() / kCentralBytes) {
    archive.fail(fmt::format("end record: {} members do not fit the file", place.members));
  }
  std::vector<ZipMember> members;
  std::set<std::string> names;
  std::uint64_t at = place.offset;
  for (std::uint64_t i = 0; i < place.members; ++i) {
    members.push_back(read_member(archive, at));
    if (!names.insert(members.back().name).second) {
      archive.fail("member '" + printable(members.back().name) + "' stands twice");
    }
  }
  return members;
}

std::span<const std::byte> unpack(const ZipMember& member, const std::string& archive_name,
                                  std::vector<std::byte>& storage) {
  const std::string where = fmt::format("{}: member '{}'", archive_name, printable(member.name));
  std::span<const std::byte> bytes = member.packed;
  if (member.deflated) {
    storage.resize(member.size);
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw RunError(where + ": zlib refuses");
    int result = Z_OK;
    std::size_t in = 0, out = 0;
    // zlib counts in 32 bits.
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    while (result == Z_OK) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.packed.data() + in));
      stream.avail_in = static_cast<uInt>(std::min(member.packed.size() - in, kMost));
      stream.next_out = reinterpret_cast<Bytef*>(storage.data() + out);
      stream.avail_out = static_cast<uInt>(std::min(storage.size() - out, kMost));
      const uInt had_in = stream.avail_in, had_out = stream.avail_out;
      result = inflate(&stream, Z_NO_FLUSH);
      in += had_in - stream.avail_in;
      out += had_out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (result != Z_STREAM_END || out != storage.size()) {
      throw InputError(fmt::format("{}: unpacks to {} bytes, expected {}; it is damaged", where,
                                   out, member.size));
    }
    bytes = storage;
  }
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != member.crc) {
    throw InputError(
        fmt::format("{}: CRC-32: found {:08x}, expected {:08x}", where, crc, member.crc));
  }
  return bytes;
}

}  // namespace thinpipe
