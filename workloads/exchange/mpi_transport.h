// Transport over MPI point-to-point.
#pragma once

#include <mpi.h>

#include <vector>

#include "workloads/exchange/idle_rank.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(MPI_Comm communicator);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override;
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override;
  bool done(Request slot, std::size_t* received = nullptr) override;
  void pause() override;
  void progressed() override { idle_.progressed(); }
  double now() const override;
  TransportCounters counters() const override { return counters_; }

  MPI_Comm communicator() const { return communicator_; }

 private:
  MPI_Request& request(Request slot);

  MPI_Comm communicator_;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
  TransportCounters counters_;
  IdleRank idle_;
};

}  // namespace thinpipe
