#include "workloads/exchange/mpi_transport.h"

#include <sched.h>
#include <time.h>

#include <climits>

#include "base/error.h"

namespace thinpipe {

namespace {

constexpr int kTag = 17;
// Open MPI 4.1 puts a 14-byte match header and an 8-byte TCP header before an eager message.
constexpr std::size_t kHeaderBytes = 22;
constexpr std::size_t kFramePayload = 1448;  // of TCP in a 1514-byte frame with timestamps

// A rank that finds nothing to do polls this often before it sleeps: polls cost about 1 us each.
constexpr int kPollsBeforeSleep = 20;
// A sleep must be short against the time a 32 kB segment takes (262 us at 1 Gbit/s) and long
// enough that ranks that wait leave the processors to those that work.
constexpr long kSleepNanoseconds = 20'000;

int checked_size(std::size_t size) {
  if (size > static_cast<std::size_t>(INT_MAX)) throw InputError("a message of 2 GiB or more");
  return static_cast<int>(size);
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

MPI_Request& MpiTransport::request(Request slot) {
  if (requests_.size() <= static_cast<std::size_t>(slot))
    requests_.resize(static_cast<std::size_t>(slot) + 1, MPI_REQUEST_NULL);
  return requests_[static_cast<std::size_t>(slot)];
}

void MpiTransport::send(Request slot, int peer, std::span<const std::byte> data) {
  ++counters_.messages;
  counters_.bytes += data.size();
  counters_.frames += (data.size() + kHeaderBytes + kFramePayload - 1) / kFramePayload;
  MPI_Isend(data.data(), checked_size(data.size()), MPI_BYTE, peer, kTag, communicator_,
            &request(slot));
}

void MpiTransport::receive(Request slot, int peer, std::span<std::byte> data) {
  MPI_Irecv(data.data(), checked_size(data.size()), MPI_BYTE, peer, kTag, communicator_,
            &request(slot));
}

bool MpiTransport::done(Request slot, std::size_t* received) {
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
  if (++idle_rounds_ <= kPollsBeforeSleep) {
    sched_yield();
    return;
  }
  const timespec wait = {0, kSleepNanoseconds};
  nanosleep(&wait, nullptr);
}

}  // namespace thinpipe
