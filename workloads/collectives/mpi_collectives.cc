#include "workloads/collectives/mpi_collectives.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/mpi_device.h"

namespace thinpipe {
namespace {

// Open MPI 4.1 puts a 14-byte match header and an 8-byte TCP header before an eager message.
constexpr std::size_t kHeaderBytes = 22;
constexpr std::size_t kFramePayload = 1448;  // of TCP in a 1514-byte frame with timestamps

int cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

int ranks_of(MPI_Comm communicator) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  return size;
}

std::size_t bytes_in(const MPI_Status& status) {
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  return static_cast<std::size_t>(count);
}

int checked_size(std::size_t size) {
  if (size > static_cast<std::size_t>(INT_MAX)) throw InputError("MPI: a message of 2 GiB or more");
  return static_cast<int>(size);
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, Asks asks)
    : communicator_(communicator),
      asks_(asks),
      size_(ranks_of(communicator)),
      // All ranks may be on this machine, although MPI sees each emulated host as a machine.
      idle_(size_ <= cores()) {
  MPI_Comm_rank(communicator_, &rank_);
}

MPI_Request& MpiTransport::request(Request slot) {
  if (requests_.size() <= static_cast<std::size_t>(slot))
    requests_.resize(static_cast<std::size_t>(slot) + 1, MPI_REQUEST_NULL);
  return requests_[static_cast<std::size_t>(slot)];
}

void MpiTransport::send(Request slot, int peer, int tag, std::span<const std::byte> data) {
  ++counters_.messages;
  counters_.bytes += data.size();
  counters_.frames += (data.size() + kHeaderBytes + kFramePayload - 1) / kFramePayload;
  MPI_Isend(data.data(), checked_size(data.size()), MPI_BYTE, peer, tag, communicator_,
            &request(slot));
}

void MpiTransport::receive(Request slot, int peer, int tag, std::span<std::byte> data) {
  MPI_Irecv(data.data(), checked_size(data.size()), MPI_BYTE, peer, tag, communicator_,
            &request(slot));
}

void MpiTransport::ask_all() {
  has_asked_ = true;
  std::vector<int> ended(requests_.size());
  std::vector<MPI_Status> statuses(requests_.size());
  int count = 0;
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended.data(),
               statuses.data());
  received_.resize(requests_.size());
  for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    received_[static_cast<std::size_t>(ended[at])] = bytes_in(statuses[at]);
  }
}

bool MpiTransport::done(Request slot, std::size_t* received) {
  if (asks_ == Asks::kAtOnce) {
    if (!has_asked_) ask_all();
    if (request(slot) != MPI_REQUEST_NULL) return false;
    if (received != nullptr) *received = received_[static_cast<std::size_t>(slot)];
    return true;
  }
  int flag = 0;
  MPI_Status status;
  MPI_Test(&request(slot), &flag, &status);
  if (flag != 0 && received != nullptr) *received = bytes_in(status);
  return flag != 0;
}

void MpiTransport::pause() {
  has_asked_ = false;
  const timespec wait = {0, idle_.pause(now_seconds())};
  if (wait.tv_nsec > 0) nanosleep(&wait, nullptr);
}

double MpiTransport::now() const { return now_seconds(); }

namespace {

template <ElementType kType>
void add_into(void* in, void* in_out, int* count, MPI_Datatype*) {
  const std::size_t bytes = static_cast<std::size_t>(*count) * size_of(kType);
  const std::span sums(static_cast<std::byte*>(in_out), bytes);
  add_elements(kType, sums, {static_cast<const std::byte*>(in), bytes}, 1, sums);
}

// The collective `openmpi`: the library chooses the algorithms.
class MpiCollectives : public Collective,
                       public AllReduce,
                       public AllGather,
                       public DeviceAllGather {
 public:
  /// @param capacity  the longest message all_gather may carry, in bytes
  /// @param device_addresses  whether the library takes device pointers (mpi_device.h)
  MpiCollectives(MPI_Comm communicator, std::size_t capacity, bool device_addresses)
      : communicator_(communicator),
        device_addresses_(device_addresses),
        sizes_(static_cast<std::size_t>(ranks_of(communicator))),
        offsets_(sizes_.size()),
        all_sizes_(sizes_.size()),
        arena_(std::make_unique_for_overwrite<std::byte[]>(sizes_.size() * capacity)),
        messages_(sizes_.size()) {
    constexpr int kCommutes = 1;
    MPI_Op_create(add_into<ElementType::kFloat16>, kCommutes, &add_fp16_);
    MPI_Op_create(add_into<ElementType::kBfloat16>, kCommutes, &add_bf16_);
  }
  ~MpiCollectives() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    MPI_Op_free(&add_fp16_);
    MPI_Op_free(&add_bf16_);
  }
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  /// Sums 16-bit elements by an MPI_Op of add_elements(); the library chooses the order.
  using AllReduce::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    const int count = mpi_count(own.size() / size_of(type), "elements of an array");
    if (type == ElementType::kFloat32)
      MPI_Allreduce(own.data(), result.data(), count, MPI_FLOAT, MPI_SUM, communicator_);
    else
      MPI_Allreduce(own.data(), result.data(), count, MPI_UINT16_T,
                    type == ElementType::kFloat16 ? add_fp16_ : add_bf16_, communicator_);
    if (factor != 1) scale_elements(type, result, factor, result);
  }
  bool knows_order() const override { return false; }

  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override {
    const std::uint64_t own_size = own.size();
    MPI_Allgather(&own_size, 1, MPI_UINT64_T, all_sizes_.data(), 1, MPI_UINT64_T, communicator_);
    place(all_sizes_);
    MPI_Allgatherv(own.data(), static_cast<int>(own_size), MPI_BYTE, arena_.get(), sizes_.data(),
                   offsets_.data(), MPI_BYTE, communicator_);
    for (std::size_t rank = 0; rank < messages_.size(); ++rank)
      messages_[rank] = {arena_.get() + offsets_[rank], static_cast<std::size_t>(sizes_[rank])};
    return messages_;
  }

  bool takes_device_pointers() const override { return device_addresses_; }
  void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) override {
    const int count = static_cast<int>(own.size());
    MPI_Allgather(own.data(), count, MPI_UINT32_T, all.data(), count, MPI_UINT32_T, communicator_);
  }
  void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                        std::byte* device_all) override {
    place(sizes);
    int rank = 0;
    MPI_Comm_rank(communicator_, &rank);
    MPI_Allgatherv(device_own, sizes_[static_cast<std::size_t>(rank)], MPI_BYTE, device_all,
                   sizes_.data(), offsets_.data(), MPI_BYTE, communicator_);
  }
  TransportCounters counters() const override { return {}; }

 private:
  // Returns a count for MPI's collectives. @throws InputError, on all ranks, for one too large
  static int mpi_count(std::uint64_t count, const char* of_what) {
    if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      throw InputError(fmt::format(
          "{} {}, and MPI's collectives count to {}; expected smaller buckets, with --overlap "
          "bucket, or the collective ring",
          count, of_what, std::numeric_limits<int>::max()));
    return static_cast<int>(count);
  }
  // Places messages of these sizes, by rank, one behind the other.
  template <class Sizes>
  void place(const Sizes& sizes) {
    mpi_count(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}),
              "bytes in the payloads of all ranks");
    std::transform(sizes.begin(), sizes.end(), sizes_.begin(),
                   [](std::uint64_t size) { return static_cast<int>(size); });
    std::exclusive_scan(sizes_.begin(), sizes_.end(), offsets_.begin(), 0);
  }

  MPI_Comm communicator_;
  MPI_Op add_fp16_ = MPI_OP_NULL, add_bf16_ = MPI_OP_NULL;
  bool device_addresses_;
  std::vector<int> sizes_, offsets_;
  std::vector<std::uint64_t> all_sizes_;
  std::unique_ptr<std::byte[]> arena_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace

bool mpi_takes_device_addresses() {
  const char* const wanted = std::getenv("THINPIPE_CUDA_MPI");
  if (wanted != nullptr && std::string_view(wanted) == "0") return false;
#ifdef MPIX_CUDA_AWARE_SUPPORT  // defined by any build's header; the library's answer decides
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::unique_ptr<Collective> make_mpi_collective(const Spec& spec, MPI_Comm communicator,
                                                std::size_t capacity, bool device_addresses) {
  check_collective(spec);
  if (!find_collective(spec.name).over_transport())
    return std::make_unique<MpiCollectives>(communicator, capacity, device_addresses);
  return make_collective(spec, std::make_unique<MpiTransport>(communicator), capacity);
}

}  // namespace thinpipe
