#include "workloads/exchange/mpi_collectives.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/exchange/element_sum.h"

namespace thinpipe {

namespace {

template <ElementType kType>
void add_into(void* in, void* in_out, int* count, MPI_Datatype*) {
  const std::size_t bytes = static_cast<std::size_t>(*count) * size_of(kType);
  const std::span sums(static_cast<std::byte*>(in_out), bytes);
  add_elements(kType, sums, {static_cast<const std::byte*>(in), bytes}, 1, sums);
}

}  // namespace

MpiCollectives::MpiCollectives(MPI_Comm communicator, std::size_t capacity, bool device_addresses)
    : communicator_(communicator), device_addresses_(device_addresses) {
  int size = 0;
  MPI_Comm_size(communicator_, &size);
  const auto ranks = static_cast<std::size_t>(size);
  sizes_.resize(ranks);
  offsets_.resize(ranks);
  messages_.resize(ranks);
  arena_.resize(ranks * capacity);
  constexpr int kCommutes = 1;
  MPI_Op_create(add_into<ElementType::kFloat16>, kCommutes, &add_fp16_);
  MPI_Op_create(add_into<ElementType::kBfloat16>, kCommutes, &add_bf16_);
}

MpiCollectives::~MpiCollectives() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  MPI_Op_free(&add_fp16_);
  MPI_Op_free(&add_bf16_);
}

void MpiCollectives::all_reduce(ElementType type, std::span<const std::byte> own,
                                std::span<std::byte> result, float factor) {
  const int count = static_cast<int>(own.size() / size_of(type));
  if (type == ElementType::kFloat32)
    MPI_Allreduce(own.data(), result.data(), count, MPI_FLOAT, MPI_SUM, communicator_);
  else
    MPI_Allreduce(own.data(), result.data(), count, MPI_UINT16_T,
                  type == ElementType::kFloat16 ? add_fp16_ : add_bf16_, communicator_);
  if (factor != 1) scale_elements(type, result, factor, result);
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

void MpiCollectives::gather_words(std::span<const std::uint32_t> own,
                                  std::span<std::uint32_t> all) {
  const int count = static_cast<int>(own.size());
  MPI_Allgather(own.data(), count, MPI_UINT32_T, all.data(), count, MPI_UINT32_T, communicator_);
}

void MpiCollectives::gather_on_device(const std::byte* device_own,
                                      std::span<const std::size_t> sizes, std::byte* device_all) {
  const std::size_t all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  if (all > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw InputError(fmt::format(
        "payloads of {} bytes of all ranks together; MPI's collectives count to {}: expected "
        "smaller buckets, with --overlap bucket, or the pattern ring",
        all, std::numeric_limits<int>::max()));
  int rank = 0;
  MPI_Comm_rank(communicator_, &rank);
  std::transform(sizes.begin(), sizes.end(), sizes_.begin(),
                 [](std::size_t size) { return static_cast<int>(size); });
  std::exclusive_scan(sizes_.begin(), sizes_.end(), offsets_.begin(), 0);
  MPI_Allgatherv(device_own, sizes_[static_cast<std::size_t>(rank)], MPI_BYTE, device_all,
                 sizes_.data(), offsets_.data(), MPI_BYTE, communicator_);
}

}  // namespace thinpipe
