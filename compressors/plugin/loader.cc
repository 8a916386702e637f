// Loads a plug-in: checks its file (ELF as in `man 5 elf`, of this machine's word size), calls
// dlopen and the entry function, copies the description into MethodInfos, checking every member,
// and registers the methods.
#include "compressors/plugin/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compressors/methods/common.h"
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

// The description.

// Sizes of the structs of version 1's first header, up to their last members. A plug-in compiled
// with a smaller struct lacks members; a larger struct ends with members that this host does not
// know.
constexpr std::size_t kPluginSize = offsetof(thinpipe_plugin, methods) + sizeof(void*);
constexpr std::size_t kMethodSize = offsetof(thinpipe_plugin_method, load) + sizeof(void (*)());
constexpr std::size_t kParameterSize = offsetof(thinpipe_plugin_parameter, choices) + sizeof(void*);

// Far above real plug-ins; below the values that a pointer or garbage in these members would have.
constexpr std::uint32_t kMaxMethods = 1000;
constexpr std::uint32_t kMaxParameters = 100;
constexpr std::uint32_t kLargestStruct = 4096;
constexpr std::size_t kLongestName = 40;

/// Throws errors that name a file, or a method or parameter in it.
class Complaint {
 public:
  explicit Complaint(std::string who) : who_(std::move(who)) {}
  const std::string& who() const { return who_; }
  Complaint of(const std::string& part) const { return Complaint(who_ + ", " + part); }
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(who_ + ": " + problem);
  }
  void require(bool good, const std::string& problem) const {
    if (!good) fail(problem);
  }

 private:
  std::string who_;
};

std::string text_of(const char* text, const char* what, const Complaint& complaint) {
  if (text == nullptr) complaint.fail(fmt::format("it has no {}", what));
  const std::string copy = text;
  const bool one_line = std::all_of(copy.begin(), copy.end(), [](unsigned char letter) {
    return letter >= 0x20 && letter != 0x7f;
  });
  complaint.require(!copy.empty() && one_line, fmt::format("its {} is not one line of text", what));
  return copy;
}

bool is_word(std::string_view text, std::string_view also) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [&](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  also.find(letter) != std::string_view::npos;
         });
}

std::string checked_name(const char* text, std::string_view also, const Complaint& complaint) {
  std::string name = text_of(text, "name", complaint);
  const bool good = is_word(name, also) && name[0] >= 'a' && name[0] <= 'z';
  complaint.require(good, fmt::format("the name '{}' is not allowed; expected a lower-case letter, "
                                      "then lower-case letters, digits or any of '{}', at most {}",
                                      name, also, kLongestName));
  return name;
}

std::vector<std::string> choices_of(const char* const* choices, const Complaint& complaint) {
  std::vector<std::string> list;
  for (; choices != nullptr && *choices != nullptr; ++choices) {
    const std::string choice = *choices;
    complaint.require(is_word(choice, "_-."),
                      fmt::format("the choice '{}' is not allowed", choice));
    list.push_back(choice);
  }
  complaint.require(!list.empty(), "it is a choice without choices");
  return list;
}

ParameterInfo parameter_of(const thinpipe_plugin_parameter& given, const Complaint& method) {
  using Type = ParameterInfo::Type;
  ParameterInfo info;
  info.name = checked_name(given.name, "_", method.of("a parameter"));
  const Complaint complaint = method.of("parameter '" + info.name + "'");
  info.default_value = text_of(given.default_value, "default", complaint);
  info.help = text_of(given.help, "help", complaint);
  switch (given.type) {
    case THINPIPE_PLUGIN_REAL:
      info.type = Type::kReal;
      break;
    case THINPIPE_PLUGIN_INTEGER:
      info.type = Type::kInteger;
      break;
    case THINPIPE_PLUGIN_CHOICE:
      info.type = Type::kChoice;
      info.choices = choices_of(given.choices, complaint);
      return info;
    case THINPIPE_PLUGIN_FLAG:
      info.type = Type::kFlag;
      return info;
    default:
      complaint.fail(fmt::format("its type is {}; expected 1 to 4", given.type));
  }
  info.minimum = given.minimum;
  info.maximum = given.maximum;
  complaint.require(
      std::isfinite(info.minimum) && std::isfinite(info.maximum) && info.minimum <= info.maximum,
      fmt::format("its range is [{}, {}]", info.minimum, info.maximum));
  info.exclusive_minimum = (given.exclusive & THINPIPE_PLUGIN_ABOVE_MINIMUM) != 0;
  info.exclusive_maximum = (given.exclusive & THINPIPE_PLUGIN_BELOW_MAXIMUM) != 0;
  return info;
}

/// Returns element i of an array of structs of the size that the plug-in reports; members that it
/// lacks are 0.
template <class Struct>
Struct element(const Struct* array, std::size_t i, std::size_t size) {
  Struct copy{};
  std::memcpy(&copy, reinterpret_cast<const std::byte*>(array) + i * size,
              std::min(size, sizeof copy));
  return copy;
}

std::vector<ParameterInfo> parameters_of(const thinpipe_plugin_method& method,
                                         std::size_t parameter_size, const Complaint& complaint) {
  complaint.require(method.parameter_count <= kMaxParameters,
                    fmt::format("it has {} parameters; expected at most {}", method.parameter_count,
                                kMaxParameters));
  complaint.require(method.parameter_count == 0 || method.parameters != nullptr,
                    "its parameters are NULL");
  complaint.require(method.parameter_count == 0 || method.create != nullptr,
                    "it has parameters but no function create to read them");
  std::vector<ParameterInfo> infos;
  for (std::size_t i = 0; i < method.parameter_count; ++i)
    infos.push_back(parameter_of(element(method.parameters, i, parameter_size), complaint));
  if (method.memory == nullptr) return infos;
  return join({infos, memory_parameters(method.memory)});
}

void check_functions(const thinpipe_plugin_method& method, const Complaint& complaint) {
  const auto require = [&](bool there, const char* name) {
    if (!there) complaint.fail(fmt::format("it has no function {}", name));
  };
  require(method.max_encoded_size != nullptr, "max_encoded_size");
  require(method.encode != nullptr, "encode");
  require(method.decode_add != nullptr, "decode_add");
  require((method.create == nullptr) == (method.destroy == nullptr),
          method.create == nullptr ? "create, but a destroy" : "destroy, but a create");
  const int states = (method.reset != nullptr) + (method.state_size != nullptr) +
                     (method.save != nullptr) + (method.load != nullptr);
  complaint.require(states == 0 || states == 4,
                    "it has some of the functions reset, state_size, save and load, but not all");
}

/// Makes the registry's checks of a spec: known keys, defaults within their ranges.
void check_parameters(const MethodInfo& info, const Complaint& complaint) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      complaint.require(info.parameters[i].name != info.parameters[j].name,
                        fmt::format("two parameters are called '{}'", info.parameters[i].name) +
                            "; thinpipe's memory has parameters of its own");
  try {
    const Parameters defaults(info.parameters, Spec{.name = info.name, .values = {}});
  } catch (const InputError& error) {
    complaint.fail(std::string("a default is not allowed: ") + error.what());
  }
}

MethodInfo method_of(const thinpipe_plugin_method& given, std::size_t parameter_size,
                     const Complaint& plugin) {
  MethodInfo info;
  info.from_plugin = true;
  info.name = checked_name(given.name, "_-", plugin.of("a method"));
  const Complaint complaint = plugin.of("method '" + info.name + "'");
  info.summary = text_of(given.summary, "summary", complaint);
  info.source = text_of(given.source, "source", complaint);
  check_functions(given, complaint);
  complaint.require(given.aggregation == THINPIPE_PLUGIN_ALL_GATHER ||
                        given.aggregation == THINPIPE_PLUGIN_ALL_REDUCE,
                    fmt::format("its aggregation is {}; expected 1 or 2", given.aggregation));
  info.aggregation = given.aggregation == THINPIPE_PLUGIN_ALL_GATHER ? Aggregation::kAllGather
                                                                     : Aggregation::kAllReduce;
  complaint.require(
      given.expected_bits > 0 && given.expected_bits <= 64,
      fmt::format("its expected_bits are {}; expected a number in (0, 64]", given.expected_bits));
  // A delay of n steps sends one payload for n gradients.
  info.expected_bits = [bits = given.expected_bits,
                        wrapped = given.memory != nullptr](const Parameters& parameters) {
    return wrapped ? bits / static_cast<double>(period_of(parameters)) : bits;
  };
  info.parameters = parameters_of(given, parameter_size, complaint);
  check_parameters(info, complaint);
  const auto method = std::make_shared<const PluginMethod>(PluginMethod{given, complaint.who()});
  info.make = [method](const Parameters& parameters, const TensorInfo& tensor,
                       const CompressorSettings& settings) {
    return make_plugin_compressor(method, parameters, tensor, settings);
  };
  return info;
}

void check_size(const char* what, std::size_t found, std::size_t least,
                const Complaint& complaint) {
  complaint.require(found >= least && found <= kLargestStruct,
                    fmt::format("its {} is {} bytes; expected at least {}", what, found, least));
}

}  // namespace

std::vector<MethodInfo> describe_plugin(const thinpipe_plugin* plugin, const std::string& file) {
  const Complaint complaint("plug-in '" + file + "'");
  complaint.require(plugin != nullptr,
                    fmt::format("it does not work with version {} of the plug-in interface",
                                THINPIPE_PLUGIN_ABI));
  complaint.require(
      plugin->abi == THINPIPE_PLUGIN_ABI,
      fmt::format("it was compiled for version {} of the plug-in interface; expected {}",
                  plugin->abi, THINPIPE_PLUGIN_ABI));
  check_size("plugin_size", plugin->plugin_size, kPluginSize, complaint);
  check_size("method_size", plugin->method_size, kMethodSize, complaint);
  check_size("parameter_size", plugin->parameter_size, kParameterSize, complaint);
  complaint.require(
      plugin->method_count >= 1 && plugin->method_count <= kMaxMethods,
      fmt::format("it has {} methods; expected 1 to {}", plugin->method_count, kMaxMethods));
  complaint.require(plugin->methods != nullptr, "its methods are NULL");
  std::vector<MethodInfo> infos;
  for (std::size_t i = 0; i < plugin->method_count; ++i) {
    infos.push_back(method_of(element(plugin->methods, i, plugin->method_size),
                              plugin->parameter_size, complaint));
    const auto same = [&](const MethodInfo& other) { return other.name == infos.back().name; };
    const bool taken = std::any_of(methods().begin(), methods().end(), same) ||
                       std::any_of(infos.begin(), infos.end() - 1, same);
    complaint.require(!taken, fmt::format("a method '{}' already exists", infos.back().name));
  }
  return infos;
}

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
