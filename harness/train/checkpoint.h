// The checkpoints of a training run's points: their folders, the contents of each rank's file, and
// checks that each is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

/// One rank's state in a checkpoint, in a file of its own.
struct RankState {
  std::uint64_t next_step = 0;         ///< the first step that has not been taken yet
  std::vector<std::byte> learner;      ///< Learner::state(); of a server: its ServerModel, if any
  std::vector<std::byte> compressors;  ///< Replay::save_state(), or a ParameterServer's
  /// Floats: sums of changes (Replay::incremental); with fragments, then the parameters that all
  /// workers have in common.
  std::vector<std::byte> estimate;
};

/// Returns the identity of a rank's checkpoint file: the training (identity_of()) and the rank.
std::string rank_identity(const std::string& training, int rank);

/// Writes the file and flushes it to the device.
/// @param identity  rank_identity(), which read_rank_state() checks
/// @throws SystemError naming the file
void write_rank_state(const std::filesystem::path& file, const std::string& identity,
                      const RankState& state);

/// Reads a rank's checkpoint file.
/// @throws InputError naming the file when it is missing, damaged (a CRC-32C covers all of it), or
/// of another point or rank
RankState read_rank_state(const std::filesystem::path& file, const std::string& identity);

/// Write and read a rank's file in answer to the message `save` or `restore` {folder, id}, which
/// names the checkpoint's folder and the training's identity.
/// @returns the answer to `save`
nlohmann::json write_rank_state(const nlohmann::json& message, int rank, const RankState& state);
RankState read_rank_state(const nlohmann::json& message, int rank);

/// The checkpoints of one point. Each is a folder `step-N` with a file `rank-R` of each rank and
/// `point.json`. It is written as `step-N.partial` and renamed when all of it is on the disk, so
/// that a folder named `step-N` is complete. Then older checkpoints are removed.
class Checkpoints {
 public:
  /// Makes no folder yet. @param out  folder of the run
  Checkpoints(const std::filesystem::path& out, const std::string& point_id);

  const std::filesystem::path& folder() const { return folder_; }

  struct Found {
    std::filesystem::path folder;
    std::uint64_t next_step = 0;
  };
  /// Returns the last checkpoint, or nothing.
  std::optional<Found> last() const;
  /// Returns the contents of point.json. @throws InputError naming the file when it cannot be read,
  /// is of another point, or has a different number of steps than its folder's name.
  nlohmann::json point_of(const Found& found) const;
  /// Checks all files of the last checkpoint, if there is one, before anything is started for it.
  /// @param identity  of the training, in its ranks' files; @param hosts  number of these files
  /// @throws InputError naming the file that is missing, damaged or of another training, and the
  /// remedy
  void check_last(const std::string& identity, int hosts) const;

  /// Makes an empty folder for the ranks' files. @throws SystemError
  std::filesystem::path begin(std::uint64_t next_step) const;
  /// Completes the folder once all ranks' files are in it: adds point.json, renames the folder, and
  /// removes older checkpoints.
  void finish(std::uint64_t next_step, nlohmann::json point) const;
  /// Removes all checkpoints of a point whose record is written.
  void remove() const;

 private:
  std::filesystem::path folder_;
  std::string id_;
};

/// Returns the path of one rank's file.
std::filesystem::path rank_file(const std::filesystem::path& checkpoint, int rank);

}  // namespace thinpipe
