// Fuzzes a file of states with arbitrary bytes, and with a correct checksum if the first byte after
// the subject is even. The bytes must cause an InputError, or be written as the same bytes again. A
// compressor must refuse each state with an InputError, or save the loaded state again and encode
// payloads that decode.
#include <cstring>
#include <vector>

#include "compressors/registry.h"
#include "compressors/wire/checks.h"
#include "compressors/wire/states.h"
#include "tests/fuzz/specs.h"

namespace thinpipe::fuzz {
namespace {

void put_checksum_right(std::vector<std::byte>& file) {
  if (file.size() < sizeof(std::uint32_t)) return;
  const std::size_t body = file.size() - sizeof(std::uint32_t);
  const std::uint32_t checksum = crc32c(std::span(file).first(body));
  std::memcpy(file.data() + body, &checksum, sizeof checksum);
}

void step(Compressor& compressor, const Subject& subject) {
  std::vector<float> values(subject.tensor.elements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) - 50;
  const std::vector<float> squares(subject.needs_squares ? values.size() : 0, 0.25F);
  const GradientInput gradient{.values = values, .squares = squares};
  if (compressor.period() > 1) compressor.hold(gradient);
  std::vector<std::byte> payload(compressor.max_encoded_size());
  const EncodeReport report = compressor.encode(gradient, payload);
  require(report.encoded_bytes <= payload.size(), "the payload is within its bound");
  payload.resize(report.encoded_bytes);
  payload.shrink_to_fit();
  std::vector<float> out(values.size());
  compressor.decode_add(payload, 1.0F, out);
}

bool loads(Compressor& compressor, std::span<const std::byte> state) {
  try {
    compressor.load_state(state);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

void check_state(std::span<const std::byte> state, const Subject& subject) {
  const auto compressor = make_compressor(parse_spec(subject.spec), subject.tensor, {});
  // A vector of exactly this size, so that a read past its end is seen.
  if (!loads(*compressor, std::vector<std::byte>(state.begin(), state.end()))) return;
  // The loaded state may have been cut to the allowed range; from then on nothing changes.
  std::vector<std::byte> saved;
  compressor->save_state(saved);
  require(loads(*compressor, saved), "a state that was saved is loaded, " + subject.spec);
  std::vector<std::byte> again;
  compressor->save_state(again);
  require(saved == again, "a state is saved as it was loaded, " + subject.spec);
  step(*compressor, subject);
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const fuzz::Subject subject = fuzz::take_subject(input);
  const bool repaired = input.get<std::uint8_t>() % 2 == 0;
  std::vector<std::byte> file(input.rest().begin(), input.rest().end());
  if (repaired) fuzz::put_checksum_right(file);
  StateBundle bundle;
  try {
    bundle = read_states(file);
  } catch (const InputError&) {
    return 0;
  }
  fuzz::require(write_states(bundle) == file,
                "states are written as the bytes they were read from");
  for (const auto& state : bundle.states) fuzz::check_state(state, subject);
  return 0;
}
