// Reading, writing and damaging the files of a trace, as the tests need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace thinpipe {

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Applies `change` to trace.json.
inline void edit_trace_json(const std::filesystem::path& folder,
                            const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json root = nlohmann::json::parse(read_bytes(folder / "trace.json"));
  change(root);
  write_bytes(folder / "trace.json", root.dump());
}

/// A safetensors file: u64 length, header as given, buffer of so many bytes.
inline std::string safetensors_bytes(const std::string& header, std::size_t buffer) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(buffer, '\x3f');
}

}  // namespace thinpipe
