// dlopen, the entry, the checks, the registration.
#include "compressors/plugin/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.h"
#include "compressors/plugin/description.h"
#include "compressors/plugin/library_file.h"

namespace thinpipe {
namespace {

using Entry = const thinpipe_plugin* (*)(std::uint32_t);

constexpr const char* kEntry = "thinpipe_plugin_get";

[[noreturn]] void fail(const std::string& file, const std::string& problem) {
  throw InputError(fmt::format("plug-in {}: {}", in_quotes(file), problem));
}

/// Unloads again what turns out not to be wanted.
struct Unload {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

Library open_library(const std::filesystem::path& file) {
  if (const std::string damage = damage_of_library(file); !damage.empty())
    fail(file, "it cannot be loaded: " + damage);
  // An absolute path: dlopen looks for a bare name in the system's folders. Local: two plug-ins
  // may have functions of one name.
  Library library(dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) fail(file, fmt::format("it cannot be loaded: {}", excerpt(dlerror())));
  return library;
}

const thinpipe_plugin* ask(void* library, const std::string& file) {
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntry));
  if (!entry) fail(file, fmt::format("it exports no function {}", kEntry));
  try {
    return entry(THINPIPE_PLUGIN_ABI);
  } catch (const std::exception& error) {
    fail(file, fmt::format("{} threw an exception: {}", kEntry, error.what()));
  } catch (...) {
    fail(file, fmt::format("{} threw an exception that is no std::exception", kEntry));
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
