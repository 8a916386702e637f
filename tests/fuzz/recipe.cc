// Recipes of `thinpipe reproduce`: any text is a recipe or an InputError.
#include "harness/reproduce/recipe.h"

#include "base/error.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    thinpipe::parse_recipe("fuzzed", {reinterpret_cast<const char*>(data), size}, "fuzzed.toml");
  } catch (const thinpipe::InputError&) {
  }
  return 0;
}
