#include "workloads/trace/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

static_assert(std::endian::native == std::endian::little,
              "traces are little-endian and served without conversion");

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
// The reference implementation's own bound on a header.
constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxDimensions = 64;  // what PyTorch allows

// Returns the bytes of one element; 0 for an unknown dtype.
std::size_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kSizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto found = kSizes.find(dtype);
  return found == kSizes.end() ? 0 : found->second;
}

std::string_view header_text(std::span<const std::byte> file, const std::string& name) {
  if (file.size() < kLengthBytes) {
    throw InputError(fmt::format("{}: header length: the file has {} bytes, expected at least {}",
                                 name, file.size(), kLengthBytes));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const std::uint64_t available = std::min<std::uint64_t>(file.size() - kLengthBytes, kMaxHeader);
  if (length > available) {
    throw InputError(fmt::format(
        "{}: header length: {} bytes, expected at most {} (the file has {}; is it truncated, or "
        "not a safetensors file?)",
        name, length, available, file.size()));
  }
  const auto* text = reinterpret_cast<const char*>(file.data() + kLengthBytes);
  return {text, static_cast<std::size_t>(length)};
}

SafetensorsEntry parse_entry(const JsonField& field, std::span<const std::byte> buffer,
                             const std::string& where) {
  field.allow_only({"dtype", "shape", "data_offsets"});
  SafetensorsEntry entry;
  entry.dtype = field.at("dtype").string();
  const JsonField dimensions = field.at("shape");
  if (dimensions.size() > kMaxDimensions) {
    dimensions.fail(
        fmt::format("{} dimensions, expected at most {}", dimensions.size(), kMaxDimensions));
  }
  entry.shape = dimensions.shape(0);
  const JsonField offsets = field.at("data_offsets");
  if (offsets.size() != 2)
    offsets.fail("expected two offsets, found " + std::to_string(offsets.size()));
  const std::uint64_t end = offsets.at(1).unsigned_integer(0, buffer.size());
  const std::uint64_t begin = offsets.at(std::size_t{0}).unsigned_integer(0, end);
  entry.bytes = buffer.subspan(begin, end - begin);
  const std::size_t elements = shape_elements(entry.shape, where);
  const std::size_t size = dtype_bytes(entry.dtype);
  const bool overflows = size != 0 && elements > std::numeric_limits<std::size_t>::max() / size;
  if (size != 0 && (overflows || elements * size != entry.bytes.size())) {
    offsets.fail(fmt::format("span {} bytes, expected {} elements of {} bytes ({} [{}])",
                             entry.bytes.size(), elements, size, entry.dtype,
                             fmt::join(entry.shape, ", ")));
  }
  return entry;
}

// Checks that the tensors cover the buffer exactly once: sorted by offset, each tensor begins where
// the previous one ends.
void check_tiling(const std::map<std::string, SafetensorsEntry>& entries,
                  std::span<const std::byte> buffer, const std::string& name) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> order;
  for (const auto& entry : entries) order.push_back(&entry);
  const auto key = [](const auto* entry) {
    return std::pair(entry->second.bytes.data(), entry->second.bytes.size());
  };
  std::sort(order.begin(), order.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  std::size_t covered = 0;
  for (const auto* entry : order) {
    const auto begin = static_cast<std::size_t>(entry->second.bytes.data() - buffer.data());
    if (begin != covered) {
      throw InputError(fmt::format("{}: tensor '{}': data_offsets: begins at {}, expected {} ({})",
                                   name, printable(entry->first), begin, covered,
                                   begin < covered ? "overlaps another" : "a gap before it"));
    }
    covered += entry->second.bytes.size();
  }
  if (covered != buffer.size()) {
    throw InputError(fmt::format("{}: {} bytes of tensors, but the file holds {} after its header",
                                 name, covered, buffer.size()));
  }
}

}  // namespace

std::size_t shape_elements(std::span<const std::int64_t> shape, const std::string& where) {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(product, dimension, &product)) {
      throw InputError(fmt::format("{}: shape: [{}] has a negative dimension or too many elements",
                                   where, fmt::join(shape, ", ")));
    }
  }
  return static_cast<std::size_t>(product);
}

std::map<std::string, SafetensorsEntry> parse_safetensors(std::span<const std::byte> file,
                                                          const std::string& name) {
  const std::string_view text = header_text(file, name);
  const std::string header_name = name + ": header";
  if (!text.starts_with('{')) {
    throw InputError(header_name + ": expected an object, which begins with {");
  }
  const json header = parse_json_strictly(text, header_name);
  const std::span<const std::byte> buffer = file.subspan(kLengthBytes + text.size());
  std::map<std::string, SafetensorsEntry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      const JsonField metadata(value, name, key);
      if (!value.is_object()) metadata.fail("expected an object, found " + describe_json(value));
      for (const auto& [field, text_value] : value.items()) metadata.at(field).string();
      continue;
    }
    const std::string where = fmt::format("{}: tensor '{}'", name, printable(key));
    entries.emplace(key, parse_entry(JsonField(value, where), buffer, where));
  }
  check_tiling(entries, buffer, name);
  return entries;
}

std::string safetensors_prologue(std::span<const SafetensorsTensor> tensors,
                                 const std::map<std::string, std::string>& metadata) {
  // The header lists tensors in the order of the buffer, as other writers do. nlohmann's objects
  // would sort them by name, so the text is assembled here.
  std::vector<std::string> members;
  if (!metadata.empty()) members.push_back("\"__metadata__\":" + json(metadata).dump());
  std::set<std::string> seen;
  std::size_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.name == "__metadata__" || !seen.insert(tensor.name).second) {
      throw InputError(fmt::format("tensor '{}': the name is {}", tensor.name,
                                   tensor.name == "__metadata__" ? "reserved" : "used twice"));
    }
    const std::size_t bytes =
        shape_elements(tensor.shape, "tensor '" + tensor.name + "'") * dtype_bytes(tensor.dtype);
    members.push_back(json(tensor.name).dump() + ":" +
                      json{{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}}
                          .dump());
    offset += bytes;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(members, ","));
  while ((kLengthBytes + header.size()) % kAlignment != 0) header += ' ';
  const std::uint64_t length = header.size();
  std::string prologue(kLengthBytes, '\0');
  std::memcpy(prologue.data(), &length, kLengthBytes);
  return prologue + header;
}

}  // namespace thinpipe
