// The files to import: found, told apart, and placed by step and rank; and what is assumed of them
// where they do not say it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads/trace/import/import.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// A file to import. `path` is below the input folder, with `/`.
struct ImportFile {
  std::string path;
  std::filesystem::path place;
};

/// Which files hold what one rank computed in one step: (step, rank) as their paths say it.
struct PlacedFile {
  ImportFile file;
  std::string tensor;  ///< of a .npy file; "gradients" where the path names none
};
using PlacedFiles = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<PlacedFile>>;

/// The files themselves and all those below folders, these in the order of their names, in which
/// digits compare as numbers. @throws InputError for what is neither, or more than a million files.
std::vector<ImportFile> find_input_files(const std::vector<std::filesystem::path>& inputs);

/// ".npy" and so on; ".json" for Chakra.
const char* import_extension(ImportFormat format);

/// The one format that the files' extensions are of; JSON counts only where there is nothing else.
/// @throws InputError otherwise. `shown` opens the message.
ImportFormat guess_import_format(const std::vector<ImportFile>& files, const std::string& shown);

/// Places the files by `pattern`, where it is given: those that do not match are left out. Else by
/// the first of the usual ones that all match. @param used becomes the pattern.
/// @throws InputError where none matches, or two files have the same place.
PlacedFiles place_input_files(const std::vector<ImportFile>& files, ImportFormat format,
                              const std::string& pattern, const std::string& shown,
                              std::string& used);

/// The ranks, ascending. @throws InputError where a step lacks one that another has.
std::vector<std::uint64_t> ranks_of_all_steps(const PlacedFiles& places, const std::string& shown);

/// The options' times; gradients become ready at even distances over the backward pass, in the
/// tensors' ready order. No loss.
TraceStepTimes assumed_times(const ImportOptions& options, const std::vector<TraceTensor>& tensors);

/// The options' model, or the name of the file or folder.
std::string imported_model(const ImportOptions& options, const std::filesystem::path& input);

}  // namespace thinpipe
