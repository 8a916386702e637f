// Conversion of gradients from other programs into a trace; docs/traces.md.
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
  /// Pattern by which paths name step, rank and tensor (names.h); "" tries the documented ones.
  std::string pattern = {};
  std::string model = {};                 ///< "": the name of the folder or file
  std::vector<std::string> renames = {};  ///< "OLD=NEW", at most one * in each; the first match
  std::vector<std::string> tensors = {};  ///< globs of names to take, after renaming; empty: all
  bool first_ready_first = false;  ///< gradients become ready in the files' order, not in reverse
  double forward = 0;              ///< s a step, if the input has no times
  double backward = 0;             ///< s a step, likewise
  std::uint64_t seed = 1;          ///< of the values drawn for Chakra traces
  double scale = 1e-3;             ///< Laplace scale b of the drawn values
};

/// Summary of an import, for display.
struct ImportSummary {
  ImportFormat format = ImportFormat::kAuto;
  std::size_t files = 0;
  std::size_t steps = 0;
  std::size_t ranks = 0;
  std::size_t tensors = 0;
  std::size_t elements = 0;
  bool has_times = false;  ///< measured times come from the input
  bool drawn = false;      ///< values are synthetic
};

/// Writes a trace into the new folder `out`. Its origin is "imported", or "synthetic" if values
/// were drawn. The provenance lists what the input contains and what was assumed.
/// @param inputs one folder or file; for Chakra one file a rank, or a folder with these files.
/// @throws InputError naming file and field; SystemError if writing fails. After an error nothing
/// new is left in `out`.
ImportSummary import_trace(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& out, const ImportOptions& options);

const char* import_format_name(ImportFormat format);

}  // namespace thinpipe
