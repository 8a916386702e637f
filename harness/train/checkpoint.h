// The checkpoints of a training run's points: where they are, what each rank's file holds, and that
// each is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

/// One rank's part of a checkpoint, in a file of its own.
struct RankState {
  std::uint64_t next_step = 0;         ///< the first one that has not been taken yet
  std::vector<std::byte> learner;      ///< Learner::state(); empty of a parameter server
  std::vector<std::byte> compressors;  ///< Replay::save_state(), or a ParameterServer's
  std::vector<std::byte> estimate;     ///< floats: sums of changes (Replay::incremental)
};

/// Identity of a rank's checkpoint file: the training (TrainPoint's) and the rank.
std::string rank_identity(const std::string& training, int rank);

/// Writes the file and flushes it to the device.
/// @param identity  of the point and the rank, which read_rank_state() asks for
/// @throws SystemError naming the file
void write_rank_state(const std::filesystem::path& file, const std::string& identity,
                      const RankState& state);

/// @throws InputError naming the file when it is missing, damaged (a CRC-32C covers all of it), or
/// of another point or rank
RankState read_rank_state(const std::filesystem::path& file, const std::string& identity);

/// A point's folder has one folder a checkpoint, `step-N`, with a file `rank-R` of each rank and
/// `point.json`. It is written as `step-N.partial` and renamed when all of it is on the device, so
/// that what has the name is whole; then older ones are removed.
class Checkpoints {
 public:
  /// @param out  of the run. Nothing is made yet.
  Checkpoints(const std::filesystem::path& out, const std::string& point_id);

  const std::filesystem::path& folder() const { return folder_; }

  struct Found {
    std::filesystem::path folder;
    std::uint64_t next_step = 0;
  };
  /// The last one; nothing where there is none.
  std::optional<Found> last() const;
  /// @throws InputError naming the file when it cannot be read or is of another point, or has not
  /// the steps that its folder's name says.
  nlohmann::json point_of(const Found& found) const;
  /// Reads all files of the last one, if there is one: before anything is started for it.
  /// @param identity  of the training, as its ranks' files have it; @param hosts  one file each
  /// @throws InputError naming the file that is missing, damaged or of another training, and what
  /// to do
  void check_last(const std::string& identity, int hosts) const;

  /// An empty folder for the ranks' files. @throws SystemError
  std::filesystem::path begin(std::uint64_t next_step) const;
  /// With all files of the ranks in it: adds point.json, renames it, removes older ones.
  void finish(std::uint64_t next_step, nlohmann::json point) const;
  /// Removes all checkpoints of a point whose record is written.
  void remove() const;

 private:
  std::filesystem::path folder_;
  std::string id_;
};

/// The file of one rank.
std::filesystem::path rank_file(const std::filesystem::path& checkpoint, int rank);

}  // namespace thinpipe
