// Loads a plug-in: checks its file (ELF as in `man 5 elf`, of this machine's word size), calls
// dlopen and the entry function, checks the description and registers the methods.
#include "compressors/plugin/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compressors/plugin/plugin_compressor.h"
#include "compressors/plugin/thinpipe_plugin.h"

namespace thinpipe {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using DynamicEntry = ElfW(Dyn);

constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kOwnOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Returns true where [begin, begin + size) lies within [0, whole), without overflow.
bool fits(std::uint64_t begin, std::uint64_t size, std::uint64_t whole) {
  return begin <= whole && size <= whole - begin;
}

class LibraryFile {
 public:
  explicit LibraryFile(const std::filesystem::path& file)
      : stream_(file, std::ios::binary), bytes_(std::filesystem::file_size(file)) {}

  std::string damage() {
    if (bytes_ < sizeof(Header)) return "it is not a shared library";
    read(0, &header_, 1);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return "it is not a shared library";
    if (header_.e_ident[EI_CLASS] != kOwnClass || header_.e_ident[EI_DATA] != kOwnOrder ||
        header_.e_type != ET_DYN || header_.e_phentsize != sizeof(Segment))
      return "it is not a shared library for this kind of machine";
    const std::uint64_t segments = std::uint64_t{header_.e_phnum} * sizeof(Segment);
    const std::uint64_t sections = std::uint64_t{header_.e_shnum} * header_.e_shentsize;
    if (!fits(header_.e_phoff, segments, bytes_) || !fits(header_.e_shoff, sections, bytes_))
      return cut_short();
    segments_.resize(header_.e_phnum);
    read(header_.e_phoff, segments_.data(), segments_.size());
    for (const Segment& segment : segments_)
      if (!fits(segment.p_offset, segment.p_filesz, bytes_)) return cut_short();
    return damage_of_tables();
  }

 private:
  template <typename Item>
  void read(std::uint64_t offset, Item* items, std::size_t count) {
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(reinterpret_cast<char*>(items),
                 static_cast<std::streamsize>(count * sizeof(Item)));
  }

  std::string cut_short() const {
    return fmt::format("it is damaged: its headers describe more than the file's {} bytes", bytes_);
  }

  // Returns true where a table lies in a loaded segment.
  bool is_loaded(std::uint64_t address, std::uint64_t size) const {
    return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
             fits(address - segment.p_vaddr, size, segment.p_memsz);
    });
  }

  std::string damage_of_tables() {
    const auto found = std::find_if(segments_.begin(), segments_.end(), [](const Segment& segment) {
      return segment.p_type == PT_DYNAMIC;
    });
    if (found == segments_.end()) return "it is not a shared library: it has no dynamic section";
    std::vector<DynamicEntry> entries(found->p_filesz / sizeof(DynamicEntry));
    read(found->p_offset, entries.data(), entries.size());
    const auto value = [&](std::int64_t tag) -> std::uint64_t {
      for (const DynamicEntry& entry : entries)
        if (entry.d_tag == tag) return entry.d_un.d_val;
      return 0;
    };
    constexpr std::pair<std::int64_t, std::int64_t> kTables[] = {
        // address and bytes (DT_NULL: the size is in the table)
        {DT_STRTAB, DT_STRSZ},
        {DT_RELA, DT_RELASZ},
        {DT_REL, DT_RELSZ},
        {DT_JMPREL, DT_PLTRELSZ},
        {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
        {DT_FINI_ARRAY, DT_FINI_ARRAYSZ},
        {DT_SYMTAB, DT_NULL},
        {DT_HASH, DT_NULL},
        {DT_GNU_HASH, DT_NULL},
        {DT_VERSYM, DT_NULL},
        {DT_VERNEED, DT_NULL},
        {DT_VERDEF, DT_NULL},
        {DT_PLTGOT, DT_NULL}};
    for (const auto& [where, bytes] : kTables)
      if (const std::uint64_t address = value(where);
          address != 0 && !is_loaded(address, bytes == DT_NULL ? 1 : value(bytes)))
        return "it is damaged: a table of its dynamic section lies outside its segments";
    return "";
  }

  std::ifstream stream_;
  std::uint64_t bytes_;
  Header header_ = {};
  std::vector<Segment> segments_;
};

/// Returns the damage of a file that would crash dlopen, or an empty string. The dynamic loader
/// maps the ranges in the headers without checking them, so a library truncated by a full disk or a
/// broken download ends the program with SIGBUS. The result is empty for a file whose headers,
/// segments, sections and dynamic tables lie within the file. It is also empty for a file that does
/// not exist, because dlopen has the better message.
std::string damage_of_library(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return "";
  if (!std::filesystem::is_regular_file(status)) return "it is not a regular file";
  return LibraryFile(file).damage();
}

using Entry = const thinpipe_plugin* (*)(std::uint32_t);

constexpr const char* kEntry = "thinpipe_plugin_get";

[[noreturn]] void fail(const std::string& file, const std::string& problem) {
  throw InputError(fmt::format("plug-in {}: {}", in_quotes(file), problem));
}

/// Unloads a library that is refused.
struct Unload {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

Library open_library(const std::filesystem::path& file) {
  if (const std::string damage = damage_of_library(file); !damage.empty())
    fail(file, "it cannot be loaded: " + damage);
  // The path is absolute because dlopen searches the system's folders for a bare name. RTLD_LOCAL
  // allows two plug-ins to have functions of one name.
  const std::string name = "plug-in " + in_quotes(file.string());
  const ExitGuard guard(name, "its initialisation");
  Library library(dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) fail(file, fmt::format("it cannot be loaded: {}", excerpt(dlerror())));
  return library;
}

const thinpipe_plugin* ask(void* library, const std::string& file) {
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntry));
  if (!entry) fail(file, fmt::format("it exports no function {}", kEntry));
  const std::string name = "plug-in " + in_quotes(file);
  const ExitGuard guard(name, kEntry);
  try {
    return entry(THINPIPE_PLUGIN_ABI);
  } catch (const std::exception& error) {
    fail(file, fmt::format("{} threw an exception: {}", kEntry, error.what()));
  } catch (...) {
    fail(file, fmt::format("{} threw an exception that is not a std::exception", kEntry));
  }
}

}  // namespace

void load_plugin(const std::filesystem::path& file) {
  static std::set<void*> loaded;
  Library library = open_library(file);
  if (loaded.contains(library.get())) return;
  for (MethodInfo& method : describe_plugin(ask(library.get(), file), file)) {
    const Registration registration{std::move(method)};
  }
  loaded.insert(library.release());
}

}  // namespace thinpipe
