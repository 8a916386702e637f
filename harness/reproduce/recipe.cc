#include "harness/reproduce/recipe.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"

namespace thinpipe {

bool Recipe::trains() const {
  return std::any_of(arms.begin(), arms.end(), [](const RecipeArm& arm) {
    return arm.full.at(0) == "train" || arm.full.at(0) == "capture";
  });
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : recipe_files())
    if (name != "shared") names.push_back(name);
  return names;
}

std::string_view recipe_text(const std::string& name) {
  const auto file = recipe_files().find(name);
  if (file != recipe_files().end()) return file->second;
  throw InputError("no recipe " + in_quotes(name) + did_you_mean(name, recipe_names()) +
                   "; `thinpipe reproduce --list` shows all, and a file's name ends with .toml");
}

Recipe find_recipe(const std::string& name) {
  if (name.ends_with(".toml")) {
    constexpr std::uint64_t kMaxBytes = 1 << 16;  // thinpipe's own have at most 6 kB
    const std::string stem = plain_file_name(std::filesystem::path(name).stem().string());
    if (stem.find_first_not_of('.') == std::string::npos)
      throw InputError(in_quotes(name) + ": a recipe's file needs a name");
    return parse_recipe(stem, read_input(name, "a recipe", kMaxBytes), name);
  }
  return parse_recipe(name, recipe_text(name), "recipes/" + name + ".toml");
}

std::string arm_place(const std::string& recipe, const std::string& label) {
  return recipe + "/" + plain_file_name(label);
}

}  // namespace thinpipe
