// Writes and reads states of compressors. The state of one compressor consists of magic, version,
// spec, tensor, number of elements, and body. The file of all tensors consists of a header, every
// state with its length, and a checksum.
#include "compressors/wire/states.h"

#include <fmt/format.h>

#include <cstring>

#include "compressors/wire/bytes.h"
#include "compressors/wire/checks.h"

namespace thinpipe {
namespace {

constexpr std::uint32_t kMagic = 0x54535054;  // "TPST"
constexpr std::uint32_t kVersion = 1;
constexpr char kStatesMagic[] = {'T', 'P', 'S', 'F'};
constexpr std::uint32_t kStatesVersion = 1;

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
      fmt::format("compressor state has {} '{}'; expected '{}'", what, found, expected));
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

std::vector<std::byte> write_states(const StateBundle& bundle) {
  std::size_t size = sizeof kStatesMagic + 4 + 4 + 8 + 8 + 4;
  for (const auto& state : bundle.states) size += 8 + state.size();
  std::vector<std::byte> file(size);
  ByteWriter out(file);
  out.put_bytes(std::as_bytes(std::span(kStatesMagic)));
  out.put(kStatesVersion);
  out.put(static_cast<std::uint32_t>(bundle.states.size()));
  out.put(bundle.seed);
  out.put(bundle.next_step);
  for (const auto& state : bundle.states) {
    out.put(static_cast<std::uint64_t>(state.size()));
    out.put_bytes(state);
  }
  out.put(crc32c(std::span(file).first(out.size())));
  return file;
}

StateBundle read_states(std::span<const std::byte> file) {
  // The checksum comes first: any other error was then written that way.
  if (file.size() < sizeof kStatesMagic ||
      std::memcmp(file.data(), kStatesMagic, sizeof kStatesMagic) != 0) {
    throw InputError("magic at byte 0: not a file of compressor states, which begins with TPSF");
  }
  ByteReader in(file);
  in.get_bytes(sizeof kStatesMagic, "magic");
  const auto version = in.get<std::uint32_t>("version");
  if (version != kStatesVersion) {
    throw InputError(
        fmt::format("version at byte 4: found {}, expected {}", version, kStatesVersion));
  }
  if (in.remaining() < sizeof(std::uint32_t)) throw InputError("the file ends within its header");
  const std::size_t body = file.size() - sizeof(std::uint32_t);
  std::uint32_t found = 0;
  std::memcpy(&found, file.data() + body, sizeof found);
  const std::uint32_t expected = crc32c(file.first(body));
  if (found != expected) {
    throw InputError(
        fmt::format("checksum at byte {}: found {:08x}, expected {:08x}: file truncated or damaged",
                    body, found, expected));
  }
  StateBundle bundle;
  const auto count = in.get<std::uint32_t>("number of states");
  bundle.seed = in.get<std::uint64_t>("seed");
  bundle.next_step = in.get<std::uint64_t>("next step");
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto size = in.get<std::uint64_t>("state length");
    bundle.states.push_back(in.get_bytes(size, "a state"));
  }
  in.get_bytes(sizeof(std::uint32_t), "checksum");
  in.expect_end();
  return bundle;
}

}  // namespace thinpipe
