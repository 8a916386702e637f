#include "workloads/trace/edit/new_folder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace thinpipe {

namespace fs = std::filesystem;

NewFolder::NewFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  created_ = fs::create_directories(path_, error);
  if (error) throw InputError(path_.string() + ": cannot be created: " + error.message());
  if (!created_ && !fs::is_empty(path_, error)) {
    throw InputError(path_.string() +
                     ": the folder is not empty (expected a new one; nothing is overwritten)");
  }
}

NewFolder::~NewFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove(file, ignored);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
    fs::remove(*folder, ignored);  // only where it is empty
  }
  if (created_) fs::remove(path_, ignored);
}

fs::path NewFolder::file(const std::string& name) {
  const fs::path place = path_ / name;
  std::vector<fs::path> missing;
  for (fs::path folder = place.parent_path(); folder != path_; folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    std::error_code error;
    if (fs::create_directory(*folder, error)) folders_.push_back(*folder);
    if (error) throw SystemError("create " + folder->string(), error.value());
  }
  files_.push_back(place);
  return place;
}

}  // namespace thinpipe
