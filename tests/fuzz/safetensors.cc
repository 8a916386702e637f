// Arbitrary bytes as a safetensors file: an InputError, or every tensor lies within them.
#include <vector>

#include "base/error.h"
#include "tests/fuzz/input.h"
#include "workloads/trace/safetensors.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    std::size_t sum = 0;
    for (const auto& [name, entry] : parse_safetensors(file, "fuzz.safetensors")) {
      for (std::byte byte : entry.bytes) sum += static_cast<std::size_t>(byte);
      fuzz::require(entry.bytes.size() < size, "a tensor is smaller than its file");
    }
    [[maybe_unused]] volatile std::size_t sink = sum;
  } catch (const InputError&) {
  }
  return 0;
}
