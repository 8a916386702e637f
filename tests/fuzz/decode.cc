// Arbitrary bytes as a payload of any compressor: they decode, or they are an InputError.
#include <vector>

#include "compressors/registry.h"
#include "tests/fuzz/specs.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const fuzz::Subject subject = fuzz::take_subject(input);
  const auto compressor = make_compressor(parse_spec(subject.spec), subject.tensor, {});
  // A copy of exactly this size, so that a read before or after it is seen.
  const std::vector<std::byte> payload(input.rest().begin(), input.rest().end());
  std::vector<float> out(subject.tensor.elements);
  try {
    compressor->decode_add(payload, 0.5F, out);
  } catch (const InputError&) {  // PayloadError is one
  }
  return 0;
}
