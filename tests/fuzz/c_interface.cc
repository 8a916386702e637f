// Calls of the C interface with arbitrary payloads, states and gradients: each succeeds or returns
// an error with a message.
#include "compressors/c/thinpipe.h"

#include <cstring>
#include <vector>

#include "tests/fuzz/specs.h"

namespace thinpipe::fuzz {
namespace {

void check(int result, const thinpipe_error& error, const char* call) {
  require(result == THINPIPE_OK || result == THINPIPE_BAD_INPUT || result == THINPIPE_BAD_PAYLOAD,
          std::string(call) + " fails for its input only: " + error.message);
  require((result == THINPIPE_OK) == (error.message[0] == '\0'),
          std::string(call) + " gives a message with every error");
}

/// Encodes the gradient, NaN and infinities included, and decodes the payload.
void step(thinpipe_compressor* compressor, const thinpipe_gradient& gradient,
          const thinpipe_properties& properties) {
  thinpipe_error error;
  std::vector<std::byte> payload(properties.max_encoded_size);
  thinpipe_report report{};
  report.struct_size = sizeof report;
  const int encoded =
      thinpipe_encode(compressor, &gradient, payload.data(), payload.size(), &report, &error);
  check(encoded, error, "encode");
  require(encoded == THINPIPE_OK, std::string("a gradient is encoded: ") + error.message);
  require(report.encoded_bytes <= payload.size(), "the payload is within its bound");
  std::vector<float> out(properties.elements);
  require(thinpipe_decode_add(compressor, payload.data(), report.encoded_bytes, 1.0F, out.data(),
                              out.size(), &error) == THINPIPE_OK,
          std::string("an own payload decodes: ") + error.message);
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const fuzz::Subject subject = fuzz::take_subject(input);
  const auto kind = input.get<std::uint8_t>();
  // A copy of exactly this size, so that a read before or after it is seen.
  const std::vector<std::byte> bytes(input.rest().begin(), input.rest().end());
  thinpipe_error error;
  const thinpipe_setup setup{sizeof setup,
                             subject.tensor.name.c_str(),
                             subject.tensor.shape.data(),
                             subject.tensor.shape.size(),
                             1,
                             0,
                             1};
  thinpipe_compressor* compressor = nullptr;
  fuzz::require(thinpipe_open(subject.spec.c_str(), &setup, &compressor, &error) == THINPIPE_OK,
                subject.spec + ": " + error.message);
  thinpipe_properties properties{};
  properties.struct_size = sizeof properties;
  thinpipe_describe(compressor, &properties, &error);

  std::vector<float> values(properties.elements);
  if (!values.empty() && !bytes.empty())
    std::memcpy(values.data(), bytes.data(), std::min(bytes.size(), 4 * values.size()));
  const std::vector<float> squares(subject.needs_squares ? values.size() : 0, 0.25F);
  const thinpipe_gradient gradient{.struct_size = sizeof gradient,
                                   .values = values.data(),
                                   .squares = squares.data(),
                                   .elements = values.size(),
                                   .step = kind,
                                   .epoch = 0,
                                   .shared_scale = 0};
  switch (kind % 3) {
    case 0:
      fuzz::check(thinpipe_decode_add(compressor, bytes.data(), bytes.size(), 0.5F, values.data(),
                                      values.size(), &error),
                  error, "decode_add");
      break;
    case 1:
      fuzz::check(thinpipe_load(compressor, bytes.data(), bytes.size(), &error), error, "load");
      thinpipe_reset(compressor, &error);
      break;
    default:
      fuzz::step(compressor, gradient, properties);
  }
  thinpipe_close(compressor);
  return 0;
}
