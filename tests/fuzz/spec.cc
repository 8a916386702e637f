// Fuzzes compressor specs with arbitrary text. The text must parse, expand, pass the checks and
// make a compressor, or cause an InputError. An accepted spec must be the same after it is written
// and parsed again.
#include <algorithm>

#include "compressors/registry.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    // Alternatives multiply: a user may wish for more than these.
    if (std::count(text.begin(), text.end(), '|') <= 6) {
      for (const Spec& spec : expand_specs(text)) {
        fuzz::require(parse_spec(spec.to_string()) == spec, "an expanded spec parses to itself");
      }
    }
    const Spec spec = parse_spec(text);
    fuzz::require(parse_spec(spec.to_string()) == spec, "a spec parses to itself");
    const std::string normal = Parameters(find_method(spec.name).parameters, spec).text();
    const Spec again = parse_spec(normal);
    fuzz::require(Parameters(find_method(again.name).parameters, again).text() == normal,
                  "a normal form is its own");
    make_compressor(spec, {.name = "t", .shape = {4, 4}, .elements = 16}, {});
  } catch (const InputError&) {
  }
  return 0;
}
