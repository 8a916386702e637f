// Collectives over MPI: a transport for all collectives, and the library's own collectives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Transport over MPI point-to-point.
class MpiTransport : public Transport {
 public:
  /// How requests are tested for completion. A test makes MPI poll all connections, which takes
  /// microseconds.
  enum class Asks {
    kEach,    ///< MPI_Test of one request, in each done()
    kAtOnce,  ///< MPI_Testsome of all, once between calls of pause() or progressed(): many peers
  };
  explicit MpiTransport(MPI_Comm communicator, Asks asks = Asks::kEach);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override;
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override;
  bool done(Request slot, std::size_t* received = nullptr) override;
  void pause() override;
  void progressed() override {
    idle_.progressed();
    has_asked_ = false;
  }
  double now() const override;
  TransportCounters counters() const override { return counters_; }

 private:
  MPI_Request& request(Request slot);
  void ask_all();

  MPI_Comm communicator_;
  Asks asks_;
  bool has_asked_ = false;             ///< kAtOnce: since the last pause() or progressed()
  std::vector<std::size_t> received_;  ///< kAtOnce: bytes of ended receives, by slot
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
  TransportCounters counters_;
  IdleRank idle_;
};

/// Makes any collective over MPI.
/// @param capacity  the longest message all_gather may carry, in bytes
/// @param device_addresses  whether MPI's own collectives may take device pointers (mpi_device.h)
/// @throws InputError as check_collective
std::unique_ptr<Collective> make_mpi_collective(const Spec& spec, MPI_Comm communicator,
                                                std::size_t capacity,
                                                bool device_addresses = false);

}  // namespace thinpipe
