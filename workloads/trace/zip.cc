#include "workloads/trace/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstdint>
#include <memory>
#include <set>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

// Deflate's densest code is one bit for 258 bytes and one for their distance: 1032 to 1.
constexpr std::uint64_t kDensest = 1032;

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

// libzip's error text.
class Failure {
 public:
  Failure() { zip_error_init(&error_); }
  ~Failure() { zip_error_fini(&error_); }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

Archive open_archive(std::span<const std::byte> bytes, const std::string& shown) {
  Failure failure;
  zip_source_t* const source =
      zip_source_buffer_create(bytes.data(), bytes.size(), /*freep=*/0, failure.get());
  Archive archive(source == nullptr ? nullptr
                                    : zip_open_from_source(source, ZIP_RDONLY, failure.get()));
  if (archive) return archive;
  zip_source_free(source);
  throw InputError(fmt::format("{}: cannot be read as a ZIP archive: {}", shown, failure.text()));
}

// One member of an archive. The constructor checks the member, unpack() unpacks it.
class PackedMember {
 public:
  /// @param archive_bytes  size of the whole archive
  PackedMember(zip_t* archive, std::uint64_t index, std::size_t archive_bytes,
               const std::string& shown)
      : archive_(archive), index_(index) {
    const char* const name = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
    if (name == nullptr) throw InputError(shown + ": " + zip_strerror(archive));
    name_ = name;
    where_ = shown + ": member '" + printable(name_) + "'";
    zip_stat_init(&about_);
    if (zip_stat_index(archive, index, 0, &about_) != 0) fail(zip_strerror(archive));
    if (about_.encryption_method != ZIP_EM_NONE) fail("encrypted members are not supported");
    if (about_.comp_method != ZIP_CM_STORE && about_.comp_method != ZIP_CM_DEFLATE)
      fail(
          fmt::format("method: found {}, expected 0 (stored) or 8 (deflated)", about_.comp_method));
    // Both sizes are those of the archive's directory, which can claim any.
    if (about_.comp_size > archive_bytes)
      fail(fmt::format("{} packed bytes, but the archive has {}", about_.comp_size, archive_bytes));
    if (about_.size / kDensest > about_.comp_size)
      fail(fmt::format("{} bytes cannot unpack to {}", about_.comp_size, about_.size));
  }

  const std::string& name() const { return name_; }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(where_ + ": " + what); }

  std::vector<std::byte> unpack() const {
    const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive_, index_, 0));
    if (!member) fail(zip_strerror(archive_));
    // One byte longer than the member: libzip compares the CRC-32 at the read that finds its end.
    std::vector<std::byte> bytes(about_.size + 1);
    std::size_t count = 0;
    while (count < bytes.size()) {
      const zip_int64_t got = zip_fread(member.get(), bytes.data() + count, bytes.size() - count);
      if (got < 0) fail(std::string("damaged: ") + zip_file_strerror(member.get()));
      if (got == 0) break;
      count += static_cast<std::size_t>(got);
    }
    if (count != about_.size)
      fail(fmt::format("damaged: unpacks to {} bytes{}, expected {}", count,
                       count > about_.size ? " or more" : "", about_.size));
    bytes.resize(count);
    return bytes;
  }

 private:
  zip_t* archive_;
  std::uint64_t index_;
  zip_stat_t about_;
  std::string name_, where_;
};

}  // namespace

void unpack_zip(std::span<const std::byte> archive_bytes, const std::string& shown,
                const TakeMember& take) {
  const Archive archive = open_archive(archive_bytes, shown);
  std::set<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const PackedMember member(archive.get(), static_cast<std::uint64_t>(i), archive_bytes.size(),
                              shown);
    if (!names.insert(member.name()).second) member.fail("appears twice");
    take(member.name(), member.unpack());
  }
}

void write_zip(const std::filesystem::path& file, std::span<const ZipMember> members) {
  int error = 0;
  Archive archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_EXCL, &error));
  const auto refuse = [&](const std::string& why) {
    throw RunError(fmt::format("write {}: {}", file.string(), why));
  };
  if (!archive) {
    Failure failure;
    zip_error_init_with_code(failure.get(), error);
    refuse(failure.text());
  }
  for (const ZipMember& member : members) {
    std::vector<zip_buffer_fragment_t> parts;
    for (const std::span<const std::byte> part : member.parts)
      parts.push_back(
          {reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(part.data())), part.size()});
    zip_source_t* const source =
        zip_source_buffer_fragment(archive.get(), parts.data(), parts.size(), /*freep=*/0);
    const zip_int64_t added =
        zip_file_add(archive.get(), member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (added < 0) {
      zip_source_free(source);
      refuse(zip_strerror(archive.get()));
    }
    const auto index = static_cast<zip_uint64_t>(added);
    constexpr zip_uint16_t kTime = 0, kDate = (1 << 5) | 1;  // 1980-01-01, 0:00
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), index, kTime, kDate, 0) != 0)
      refuse(zip_strerror(archive.get()));
  }
  if (zip_close(archive.get()) != 0) refuse(zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // zip_close() has freed it
}

}  // namespace thinpipe
