// Traces made from others, and compared, by tests of code that reads and edits traces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/base/support.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Applies `change` to trace.json.
inline void edit_trace_json(const std::filesystem::path& folder,
                            const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json root = nlohmann::json::parse(read_bytes(folder / "trace.json"));
  change(root);
  write_bytes(folder / "trace.json", root.dump());
}

/// Turns a trace of FP32 gradients into a trace of 16 bits: keeps the upper half of every value's
/// bits. Read as binary16, these bits are a different number, but still a valid number. The trace
/// must have no second moments.
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

/// Every tensor, by name, in both: gradients and second moments of the same ranks and steps.
inline void expect_same_values(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.ranks(), b.ranks());
  ASSERT_EQ(a.steps(), b.steps());
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (std::size_t step = 0; step < a.steps(); ++step) {
    EXPECT_EQ(a.training_step(step), b.training_step(step));
    for (std::size_t rank = 0; rank < a.ranks(); ++rank) {
      for (std::size_t i = 0; i < a.tensors().size(); ++i) {
        std::size_t j = 0;
        while (j < b.tensors().size() && b.tensors()[j].name != a.tensors()[i].name) ++j;
        ASSERT_LT(j, b.tensors().size()) << a.tensors()[i].name;
        EXPECT_EQ(a.tensors()[i].shape, b.tensors()[j].shape);
        const auto x = a.gradient(rank, step, i), y = b.gradient(rank, step, j);
        EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
        const auto p = a.squares(rank, step, i), q = b.squares(rank, step, j);
        EXPECT_TRUE(std::equal(p.begin(), p.end(), q.begin(), q.end()));
      }
    }
  }
}

/// The folder's files, to see that nothing was left.
inline std::size_t files_below(const std::filesystem::path& folder) {
  std::size_t files = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

/// The command that starts a Python with NumPy; "" without one.
inline std::string numpy_python() {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return "";
}

}  // namespace thinpipe
