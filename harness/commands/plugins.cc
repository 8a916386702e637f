#include "harness/commands/plugins.h"

#include "compressors/plugin/loader.h"

namespace thinpipe {

OptionInfo plugin_option() {
  return {.name = "plugin",
          .value_name = "FILE",
          .type = OptionInfo::Type::kFile,
          .help = "a shared library with more compressors (docs/plugins.md)",
          .repeatable = true};
}

std::vector<std::filesystem::path> load_plugins(const Arguments& arguments) {
  std::vector<std::filesystem::path> loaded;
  for (const std::string& file : arguments.texts("plugin")) {
    load_plugin(file);
    loaded.push_back(std::filesystem::absolute(file).lexically_normal());
  }
  return loaded;
}

}  // namespace thinpipe
