// One rank's part of a checkpoint, in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace thinpipe {

struct RankState {
  std::uint64_t next_step = 0;         ///< the first one that has not been taken yet
  std::vector<std::byte> learner;      ///< Learner::state(); empty of a parameter server
  std::vector<std::byte> compressors;  ///< Replay::save_state(), or a ParameterServer's
  std::vector<std::byte> estimate;     ///< floats: sums of changes (Replay::incremental)
};

/// What a rank's file of a checkpoint is of: the training (TrainPoint's) and the rank.
std::string rank_identity(const std::string& training, int rank);

/// Writes the file and flushes it to the device.
/// @param identity  of the point and the rank, which read_rank_state() asks for
/// @throws SystemError naming the file
void write_rank_state(const std::filesystem::path& file, const std::string& identity,
                      const RankState& state);

/// @throws InputError naming the file when it is missing, damaged (a CRC-32C covers all of it), or
/// of another point or rank
RankState read_rank_state(const std::filesystem::path& file, const std::string& identity);

}  // namespace thinpipe
