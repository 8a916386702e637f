#include "workloads/exchange/patterns.h"

#include <cstdint>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "workloads/exchange/mpi_transport.h"
#include "workloads/exchange/ring_pattern.h"

namespace thinpipe {

namespace {

class OpenMpi : public Pattern {
 public:
  OpenMpi(MPI_Comm communicator, std::size_t capacity) : communicator_(communicator) {
    int size = 0;
    MPI_Comm_size(communicator_, &size);
    const auto ranks = static_cast<std::size_t>(size);
    sizes_.resize(ranks);
    offsets_.resize(ranks);
    messages_.resize(ranks);
    arena_.resize(ranks * capacity);
  }

  void all_reduce(std::span<const float> own, std::span<float> result, float factor) override {
    MPI_Allreduce(own.data(), result.data(), static_cast<int>(own.size()), MPI_FLOAT, MPI_SUM,
                  communicator_);
    for (float& value : result) value *= factor;
  }

  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
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

  TransportCounters counters() const override { return {}; }

 private:
  MPI_Comm communicator_;
  std::vector<int> sizes_, offsets_;
  std::vector<std::byte> arena_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace

std::vector<std::string> pattern_names() { return {"ring", "openmpi"}; }

std::unique_ptr<Pattern> make_pattern(const std::string& name, MPI_Comm communicator,
                                      std::size_t capacity) {
  if (name == "ring")
    return std::make_unique<RingPattern>(std::make_unique<MpiTransport>(communicator), capacity);
  if (name == "openmpi") return std::make_unique<OpenMpi>(communicator, capacity);
  throw InputError("unknown exchange pattern '" + name + "' (known: ring, openmpi)" +
                   did_you_mean(name, pattern_names()));
}

}  // namespace thinpipe
