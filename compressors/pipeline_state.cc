// State envelope: magic, version, spec, tensor, elements.
#include "compressors/pipeline_state.h"

#include <fmt/format.h>

namespace thinpipe {
namespace {

constexpr std::uint32_t kMagic = 0x54535054;  // "TPST"
constexpr std::uint32_t kVersion = 1;

std::size_t envelope_size(const StateIdentity& identity) {
  return 4 * sizeof(std::uint32_t) + sizeof(std::uint64_t) + identity.spec.size() +
         identity.tensor.size();
}

void put_text(ByteWriter& out, const std::string& text) {
  out.put(static_cast<std::uint32_t>(text.size()));
  out.put_bytes(std::as_bytes(std::span(text)));
}

std::string get_text(ByteReader& in, const char* what) {
  const auto size = in.get<std::uint32_t>(what);
  const auto bytes = in.get_bytes(size, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void expect(const char* what, const std::string& found, const std::string& expected) {
  if (found == expected) return;
  throw InputError(
      fmt::format("compressor state is of {} '{}'; expected '{}'", what, found, expected));
}

}  // namespace

ByteWriter begin_state(const StateIdentity& identity, std::size_t body_size,
                       std::vector<std::byte>& state) {
  state.resize(envelope_size(identity) + body_size);
  ByteWriter out(state);
  out.put(kMagic);
  out.put(kVersion);
  put_text(out, identity.spec);
  put_text(out, identity.tensor);
  out.put(static_cast<std::uint64_t>(identity.elements));
  return out;
}

ByteReader open_state(const StateIdentity& identity, std::size_t body_size,
                      std::span<const std::byte> state) {
  ByteReader in(state);
  if (in.get<std::uint32_t>("compressor state") != kMagic) {
    throw InputError("not a compressor state: it does not begin with TPST");
  }
  const auto version = in.get<std::uint32_t>("state version");
  expect("version", std::to_string(version), std::to_string(kVersion));
  expect("spec", get_text(in, "state spec"), identity.spec);
  expect("tensor", get_text(in, "state tensor name"), identity.tensor);
  expect("element count", std::to_string(in.get<std::uint64_t>("state element count")),
         std::to_string(identity.elements));
  expect("body size", std::to_string(in.remaining()), std::to_string(body_size));
  return in;
}

}  // namespace thinpipe
