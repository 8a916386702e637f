// Fuzzes the parser of key-value pairs with any text. The pairs must form the text again, in its
// order and with each key once, or the parser must throw an InputError.
#include "base/key_values.h"

#include <set>

#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    KeyValues items("pairs", text, text);
    std::string again;
    std::set<std::string> keys;
    for (const auto& [key, value] : items.left()) {
      again += (again.empty() ? "" : ",") + key + "=" + value;
      fuzz::require(keys.insert(key).second, "no key occurs twice");
    }
    fuzz::require(again == text, "the pairs are the text");
    for (const std::string& key : keys) {
      const std::string value = items.take(key);
      fuzz::require(!value.empty() && items.given(key) && !items.find(key), "each is taken once");
    }
    items.finish();
  } catch (const InputError&) {
  }
  return 0;
}
