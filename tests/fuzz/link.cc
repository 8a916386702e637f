// Fuzzes the link parser with arbitrary text. If the text parses, its printed form must parse to
// the same link, and the link must convert to qdiscs. Otherwise the parser must throw an
// InputError.
#include <algorithm>

#include "base/error.h"
#include "netem/link/link_spec.h"
#include "netem/link/shaping.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    // Alternatives multiply: a user may wish for more than these.
    if (std::count(text.begin(), text.end(), '|') > 6) return 0;
    for (const LinkSpec& link : expand_link_specs(text)) {
      const std::string canonical = link.to_string();
      fuzz::require(parse_link_spec(canonical) == link, "its text is the same link");
      fuzz::require(parse_link_spec(canonical).to_string() == canonical, "and is canonical");
      const LinkSpec filled = link.with_defaults();
      fuzz::require(filled.up.rate == 0 || filled.up.queue >= link.frame_bytes(),
                    "a frame fits into the queue");
      // Tables are files of the machine's, and making one takes longer than all else.
      if (link.up.impairment.jitter.count() == 0 && link.down.impairment.jitter.count() == 0)
        fuzz::require(!shaping_of(link).port.empty(), "it has qdiscs");
    }
  } catch (const InputError&) {
  }
  return 0;
}
