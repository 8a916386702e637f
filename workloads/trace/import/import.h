// Gradients that another program wrote, made a trace; docs/traces.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace thinpipe {

enum class ImportFormat { kAuto, kNpy, kNpz, kSafetensors, kChakra };

struct ImportOptions {
  ImportFormat format = ImportFormat::kAuto;  ///< auto: by the files' extensions
  /// How paths name step, rank and tensor (names.h); "" tries those that are documented.
  std::string pattern = {};
  std::string model = {};                 ///< "": the name of the folder or file
  std::vector<std::string> renames = {};  ///< "OLD=NEW", at most one * in each; the first that fits
  std::vector<std::string> tensors = {};  ///< globs of the names to take, after renaming; none: all
  bool first_ready_first = false;  ///< gradients become ready in the files' order, not in reverse
  double forward = 0;              ///< s a step, where the input has no times
  double backward = 0;             ///< s a step, likewise
  std::uint64_t seed = 1;          ///< of values drawn for Chakra traces
  double scale = 1e-3;             ///< Laplace scale b of such values
};

/// Summary of an import, for a person to read.
struct ImportSummary {
  ImportFormat format = ImportFormat::kAuto;
  std::size_t files = 0;
  std::size_t steps = 0;
  std::size_t ranks = 0;
  std::size_t tensors = 0;
  std::size_t elements = 0;
  bool has_times = false;  ///< measured ones, from the input
  bool drawn = false;      ///< values are synthetic
};

/// Writes a trace into the new folder `out`, of origin "imported", or "synthetic" where values were
/// drawn. Its provenance says what is of the input and what was assumed. When anything is wrong
/// nothing is left in `out`.
/// @param inputs one folder or file; for Chakra one file a rank, or a folder with them.
/// @throws InputError naming file and field; SystemError when the disk refuses.
ImportSummary import_trace(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& out, const ImportOptions& options);

const char* import_format_name(ImportFormat format);

}  // namespace thinpipe
