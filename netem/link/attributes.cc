#include "netem/link/attributes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

void AttributeWriter::append(const void* data, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

void AttributeWriter::put_bytes(std::uint16_t type, std::span<const std::byte> value) {
  const std::size_t length = NLA_HDRLEN + value.size();
  if (length > UINT16_MAX)
    throw RunError(
        fmt::format("netlink attribute {} has {} bytes (limit 65531)", type, value.size()));
  const nlattr header = {.nla_len = static_cast<std::uint16_t>(length), .nla_type = type};
  append(&header, sizeof(header));
  append(value.data(), value.size());
  bytes_.resize(NLA_ALIGN(bytes_.size()));
}

void AttributeWriter::put_text(std::uint16_t type, std::string_view text) {
  std::vector<std::byte> value(text.size() + 1);
  std::memcpy(value.data(), text.data(), text.size());
  put_bytes(type, value);
}

AttributeReader::AttributeReader(std::span<const std::byte> bytes, std::string what)
    : what_(std::move(what)) {
  while (bytes.size() >= NLA_HDRLEN) {
    const auto header = read_struct<nlattr>(bytes, what_);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > bytes.size())
      throw RunError(fmt::format("{}: a netlink attribute claims {} bytes, but {} are left", what_,
                                 header.nla_len, bytes.size()));
    const auto type = static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK);
    attributes_[type] = bytes.subspan(NLA_HDRLEN, header.nla_len - NLA_HDRLEN);
    bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), NLA_ALIGN(header.nla_len)));
  }
}

std::span<const std::byte> AttributeReader::bytes(std::uint16_t type) const {
  const auto found = attributes_.find(type);
  if (found == attributes_.end())
    throw RunError(fmt::format("{}: the kernel sent no attribute {}", what_, type));
  return found->second;
}

std::string AttributeReader::text(std::uint16_t type) const {
  const std::span<const std::byte> value = bytes(type);
  const auto end = std::find(value.begin(), value.end(), std::byte{0});
  return {reinterpret_cast<const char*>(value.data()),
          static_cast<std::size_t>(end - value.begin())};
}

void AttributeReader::require(std::size_t found, std::size_t needed, const std::string& what) {
  if (found < needed)
    throw RunError(fmt::format("{}: the kernel sent {} bytes, expected {}", what, found, needed));
}

}  // namespace thinpipe
