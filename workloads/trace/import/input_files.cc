#include "workloads/trace/import/input_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/input_file.h"
#include "compressors/wire/checks.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBelow = 1'000'000;  // files and folders

/// Compares digits as numbers, so that layer 10 comes after layer 9.
bool natural_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // only leading zeros differ
}

std::vector<ImportFile> files_in(const fs::path& folder) {
  std::vector<ImportFile> files;
  for (const fs::path& file : input_files_below(folder, "a folder of gradients", kMaxBelow))
    files.push_back({file.lexically_relative(folder).generic_string(), file});
  std::sort(files.begin(), files.end(),
            [](const ImportFile& a, const ImportFile& b) { return natural_less(a.path, b.path); });
  return files;
}

struct FormatInfo {
  const char* name;
  std::vector<std::string> extensions;
  /// Patterns that are tried in turn if the user gives none, without the extension.
  std::vector<std::string> patterns;
};

const FormatInfo& info_of(ImportFormat format) {
  // The first pattern is that of SIDCo's published gradients, one vector for the whole model:
  // grads/cifar10_resnet20_r0_gradients_iter_100.npy.
  static const std::vector<std::string> kArrays = {
      "*r{rank}_gradients_iter_{step}", "rank-{rank}/step-{step}/{tensor}",
      "{step}/{rank}/{tensor}", "{step}/{tensor}", "{tensor}"};
  static const std::vector<std::string> kArchives = {"rank-{rank}/step-{step}",
                                                     "{step}/{rank}",
                                                     "*rank{rank}*step{step}",
                                                     "*step{step}",
                                                     "{step}",
                                                     "*"};
  static const std::map<ImportFormat, FormatInfo> kFormats = {
      {ImportFormat::kAuto, {"auto", {}, {}}},
      {ImportFormat::kNpy, {"npy", {".npy"}, kArrays}},
      {ImportFormat::kNpz, {"npz", {".npz"}, kArchives}},
      {ImportFormat::kSafetensors, {"safetensors", {".safetensors"}, kArchives}},
      {ImportFormat::kChakra, {"chakra", {".json", ".et"}, {}}}};
  return kFormats.at(format);
}

}  // namespace

const char* import_format_name(ImportFormat format) { return info_of(format).name; }

const std::vector<std::string>& import_extensions(ImportFormat format) {
  return info_of(format).extensions;
}

bool has_import_extension(const fs::path& file, ImportFormat format) {
  const std::vector<std::string>& known = import_extensions(format);
  return std::find(known.begin(), known.end(), file.extension().string()) != known.end();
}

std::vector<ImportFile> find_input_files(const std::vector<fs::path>& inputs) {
  std::vector<ImportFile> files;
  for (const fs::path& input : inputs) {
    std::error_code ignored;
    if (fs::is_directory(input, ignored)) {
      const auto found = files_in(input);
      files.insert(files.end(), found.begin(), found.end());
    } else if (fs::is_regular_file(input, ignored)) {
      files.push_back({input.filename().generic_string(), input});
    } else {
      throw InputError(input.string() + ": no such file or folder");
    }
  }
  return files;
}

ImportFormat guess_import_format(const std::vector<ImportFile>& files, const std::string& shown) {
  std::set<ImportFormat> found;
  for (const ImportFile& file : files) {
    for (const auto format : {ImportFormat::kNpy, ImportFormat::kNpz, ImportFormat::kSafetensors,
                              ImportFormat::kChakra}) {
      if (has_import_extension(file.place, format)) found.insert(format);
    }
  }
  if (found.size() > 1) found.erase(ImportFormat::kChakra);  // JSON is common in any folder
  if (found.size() == 1) return *found.begin();
  throw InputError(
      fmt::format("{}: {} (expected files of one kind: .npy, .npz, .safetensors, or .json and .et "
                  "of Chakra traces; --format chooses one)",
                  shown, found.empty() ? "nothing to import" : "files of several kinds"));
}

PlacedFiles place_input_files(const std::vector<ImportFile>& files, ImportFormat format,
                              const std::string& given, const std::string& shown,
                              std::string& used) {
  const bool chosen = !given.empty();
  std::vector<std::string> patterns = {given};
  if (!chosen) {
    patterns = info_of(format).patterns;
    for (std::string& pattern : patterns) pattern += import_extensions(format).front();
  }
  std::string left_over;
  for (const std::string& text : patterns) {
    const PathPattern pattern(text);
    if (format != ImportFormat::kNpy && pattern.names_tensors()) {
      throw InputError(fmt::format(
          "pattern '{}': {{tensor}} is for .npy files; {} files contain the names of tensors", text,
          import_extensions(format).front()));
    }
    PlacedFiles places;
    std::size_t matched = 0;
    std::string unmatched;
    for (const ImportFile& file : files) {
      const auto parts = pattern.match(file.path);
      if (!parts) {
        if (unmatched.empty()) unmatched = file.path;
        continue;
      }
      const std::string tensor = pattern.names_tensors() ? parts->tensor : "gradients";
      auto& there = places[{parts->step, parts->rank}];
      for (const PlacedFile& other : there) {
        if (format == ImportFormat::kNpy && other.tensor != tensor) continue;
        throw InputError(fmt::format("{}: {} and {} are both of step {}, rank {} (pattern '{}')",
                                     shown, printable(other.file.path), printable(file.path),
                                     parts->step, parts->rank, text));
      }
      there.push_back({file, tensor});
      ++matched;
    }
    if (matched > 0 && (chosen || unmatched.empty())) {
      used = text;
      return places;
    }
    if (left_over.empty()) left_over = unmatched;
  }
  throw InputError(fmt::format("{}: {} does not match {} '{}'{}", shown, printable(left_over),
                               chosen ? "the pattern" : "any of", fmt::join(patterns, "', '"),
                               chosen ? "" : "; --pattern sets another"));
}

std::vector<std::uint64_t> ranks_of_all_steps(const PlacedFiles& places, const std::string& shown) {
  std::set<std::uint64_t> ranks, steps;
  for (const auto& [key, files] : places) {
    steps.insert(key.first);
    ranks.insert(key.second);
  }
  for (const std::uint64_t step : steps) {
    for (const std::uint64_t rank : ranks) {
      if (places.contains({step, rank})) continue;
      throw InputError(
          fmt::format("{}: step {}: no file of rank {}, unlike other steps", shown, step, rank));
    }
  }
  return {ranks.begin(), ranks.end()};
}

TraceStepTimes assumed_times(const ImportOptions& options,
                             const std::vector<TraceTensor>& tensors) {
  TraceStepTimes times;
  times.forward = options.forward;
  times.backward = options.backward;
  times.loss = std::numeric_limits<double>::quiet_NaN();
  for (const TraceTensor& tensor : tensors) {
    // The fraction first: it is 1 for the last tensor, which must not be ready after the pass.
    times.ready.push_back(options.backward * (static_cast<double>(tensor.ready_order + 1) /
                                              static_cast<double>(tensors.size())));
  }
  return times;
}

std::string imported_model(const ImportOptions& options, const fs::path& input) {
  if (!options.model.empty()) return options.model;
  fs::path path = input.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = printable(path.stem().string());
  return name.empty() || name == "." || name == ".." || !is_utf8(name) ? "imported" : name;
}

}  // namespace thinpipe
