// Finds the files to import, guesses their format, and assigns them to steps and ranks. Also
// returns the values that an import assumes for data missing in the files, such as times.
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

/// A file to import. `path` is relative to the input folder, with `/`.
struct ImportFile {
  std::string path;
  std::filesystem::path place;
};

/// A file with the gradients of one rank in one step.
struct PlacedFile {
  ImportFile file;
  std::string tensor;  ///< of a .npy file; "gradients" if the path names none
};
/// Files by the (step, rank) in their paths.
using PlacedFiles = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<PlacedFile>>;

/// Returns the given files and all files below the given folders. Files of a folder are ordered by
/// name, and digits compare as numbers.
/// @throws InputError for anything else, or for more than a million files.
std::vector<ImportFile> find_input_files(const std::vector<std::filesystem::path>& inputs);

/// Returns the format's file extensions, e.g. ".npy"; ".json" and ".et" for Chakra.
const std::vector<std::string>& import_extensions(ImportFormat format);
bool has_import_extension(const std::filesystem::path& file, ImportFormat format);

/// Returns the format of the files, guessed from their extensions. Chakra's are common ones
/// (.json), so they decide only if no file has the extension of another format.
/// @param shown  the beginning of an error's message
/// @throws InputError if there is no format or more than one
ImportFormat guess_import_format(const std::vector<ImportFile>& files, const std::string& shown);

/// Assigns files to steps and ranks by `pattern` and leaves out files that do not match. An empty
/// `pattern` selects the first documented pattern that all files match.
/// @param used set to the pattern.
/// @throws InputError if no file matches, or two files have the same step, rank and tensor.
PlacedFiles place_input_files(const std::vector<ImportFile>& files, ImportFormat format,
                              const std::string& pattern, const std::string& shown,
                              std::string& used);

/// Returns the ranks, ascending. @throws InputError if a step lacks a rank that another step has.
std::vector<std::uint64_t> ranks_of_all_steps(const PlacedFiles& places, const std::string& shown);

/// Returns the times of a step that the options give for input without times. Gradients become
/// ready at even intervals over the backward pass, in the tensors' ready order. The loss is NaN.
TraceStepTimes assumed_times(const ImportOptions& options, const std::vector<TraceTensor>& tensors);

/// Returns the options' model, or the name of the file or folder.
std::string imported_model(const ImportOptions& options, const std::filesystem::path& input);

}  // namespace thinpipe
