#include "workloads/exchange/mpi_transport.h"

#include <sched.h>
#include <time.h>

#include <climits>

#include "base/clock.h"
#include "base/error.h"

namespace thinpipe {

namespace {

// Open MPI 4.1 puts a 14-byte match header and an 8-byte TCP header before an eager message.
constexpr std::size_t kHeaderBytes = 22;
constexpr std::size_t kFramePayload = 1448;  // of TCP in a 1514-byte frame with timestamps

int cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

int size_of(MPI_Comm communicator) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  return size;
}

int checked_size(std::size_t size) {
  if (size > static_cast<std::size_t>(INT_MAX)) throw InputError("a message of 2 GiB or more");
  return static_cast<int>(size);
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, Asks asks)
    : communicator_(communicator),
      asks_(asks),
      size_(size_of(communicator)),
      // All of them may be on this machine: each is a host of its own to MPI where they are
      // emulated.
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
    int size = 0;
    MPI_Get_count(&statuses[at], MPI_BYTE, &size);
    received_[static_cast<std::size_t>(ended[at])] = static_cast<std::size_t>(size);
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
  if (flag != 0 && received != nullptr) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *received = static_cast<std::size_t>(count);
  }
  return flag != 0;
}

void MpiTransport::pause() {
  has_asked_ = false;
  const timespec wait = {0, idle_.pause(now_seconds())};
  if (wait.tv_nsec > 0) nanosleep(&wait, nullptr);
}

double MpiTransport::now() const { return now_seconds(); }

}  // namespace thinpipe
