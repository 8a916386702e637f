// Turns a trace of FP32 gradients into one of 16 bits.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>

#include "tests/trace/trace_files.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/sha256.h"

namespace thinpipe {

/// Keeps the upper half of every value's bits: what they mean as binary16 is another number, but a
/// number all the same. Second moments must not be there.
inline void make_half(const std::filesystem::path& folder, const std::string& dtype) {
  edit_trace_json(folder, [&](nlohmann::json& root) {
    root["dtype"] = dtype;
    for (auto& step : root["steps"]) {
      for (auto& worker : step["workers"]) {
        const auto place = folder / worker["file"].get<std::string>();
        const std::string whole = read_bytes(place);
        const auto entries = parse_safetensors(std::as_bytes(std::span(whole)), place.string());
        std::vector<SafetensorsTensor> tensors;
        std::string values;
        for (const auto& [name, entry] : entries) {
          tensors.push_back({name, entry.shape, dtype});
          for (std::size_t at = 2; at < entry.bytes.size(); at += 4) {
            values.append(reinterpret_cast<const char*>(entry.bytes.data() + at), 2);
          }
        }
        const std::string halved = safetensors_prologue(tensors, {}) + values;
        write_bytes(place, halved);
        worker["bytes"] = halved.size();
        worker["sha256"] = sha256_hex(std::as_bytes(std::span(halved)));
      }
    }
  });
}

}  // namespace thinpipe
