// A folder that is being filled: all of it stays, or nothing.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace thinpipe {

/// Creates a folder and removes what was put into it, unless keep() is called. It removes the files
/// and folders that it was told of, by name, and nothing that somebody else put there.
class NewFolder {
 public:
  /// Creates the folder and its parents. @throws InputError when it holds anything already.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// The place of a file that is about to be written; makes the folders on the way to it.
  /// @param name relative, with `/`. @throws SystemError
  std::filesystem::path file(const std::string& name);
  void keep() { kept_ = true; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::filesystem::path> folders_;  // parents before children
  bool created_ = false;
  bool kept_ = false;
};

}  // namespace thinpipe
