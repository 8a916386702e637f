#include "workloads/exchange/mpi_collectives.h"

#include <numeric>

namespace thinpipe {

MpiCollectives::MpiCollectives(MPI_Comm communicator, std::size_t capacity)
    : communicator_(communicator) {
  int size = 0;
  MPI_Comm_size(communicator_, &size);
  const auto ranks = static_cast<std::size_t>(size);
  sizes_.resize(ranks);
  offsets_.resize(ranks);
  messages_.resize(ranks);
  arena_.resize(ranks * capacity);
}

void MpiCollectives::all_reduce(std::span<const float> own, std::span<float> result, float factor) {
  MPI_Allreduce(own.data(), result.data(), static_cast<int>(own.size()), MPI_FLOAT, MPI_SUM,
                communicator_);
  for (float& value : result) value *= factor;
}

const std::vector<std::span<const std::byte>>& MpiCollectives::all_gather(
    std::span<const std::byte> own) {
  const int own_size = static_cast<int>(own.size());
  MPI_Allgather(&own_size, 1, MPI_INT, sizes_.data(), 1, MPI_INT, communicator_);
  std::exclusive_scan(sizes_.begin(), sizes_.end(), offsets_.begin(), 0);
  MPI_Allgatherv(own.data(), own_size, MPI_BYTE, arena_.data(), sizes_.data(), offsets_.data(),
                 MPI_BYTE, communicator_);
  for (std::size_t rank = 0; rank < messages_.size(); ++rank)
    messages_[rank] = std::span(arena_).subspan(static_cast<std::size_t>(offsets_[rank]),
                                                static_cast<std::size_t>(sizes_[rank]));
  return messages_;
}

}  // namespace thinpipe
