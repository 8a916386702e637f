// bare_ring ELEMENTS BLOCKS STEPS WAIT CONGESTION GATE: a pipelined ring all-reduce with its own
// clock, in plain MPI without thinpipe. own_cost compares the harness with this program. WAIT is
// the action of an idle rank: `sleep` a little, or `spin` in MPI_Test. Before each block of STEPS
// steps rank r waits for a byte from the FIFO GATE.r. Rank 0 writes a byte to GATE.done when it is
// ready for the block. Rank 0 prints `sum ok`; if the sum is wrong, all ranks exit with 1. Then
// rank 0 prints a line for each step: the seconds on the slowest rank, and the seconds since the
// end of the previous step.
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kSegment = 32768 / sizeof(float);
constexpr std::size_t kWindow = 16;  // segments under way in each direction
constexpr long kShortestPause = 10'000, kLongestPause = 100'000;  // ns

struct Segment {
  std::size_t begin, count;
  std::size_t step;  // of the ring: 0 to 2 (n-1) - 1
};

// Chunks `first`, first-1, ... as they go round a ring of n, each cut into segments.
std::vector<Segment> segments_from(std::size_t first, std::size_t n, std::size_t elements) {
  std::vector<Segment> segments;
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    const std::size_t chunk = (first + 2 * n - step) % n;
    const std::size_t end = elements * (chunk + 1) / n;
    for (std::size_t at = elements * chunk / n; at < end; at += kSegment)
      segments.push_back({at, std::min(kSegment, end - at), step});
  }
  return segments;
}

class Ring {
 public:
  Ring(std::size_t elements, bool spin) : spin_(spin), staging_(kWindow * kSegment) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &n_);
    const auto n = static_cast<std::size_t>(n_), rank = static_cast<std::size_t>(rank_);
    out_ = segments_from(rank, n, elements);
    in_ = segments_from((rank + n - 1) % n, n, elements);
    own_segments_ = static_cast<std::size_t>(std::count_if(
        out_.begin(), out_.end(), [](const Segment& segment) { return segment.step == 0; }));
  }

  // result becomes the mean of `own` over all ranks.
  void all_reduce(const std::vector<float>& own, std::vector<float>& result) {
    const auto n = static_cast<std::size_t>(n_);
    const int right = (rank_ + 1) % n_, left = (rank_ + n_ - 1) % n_;
    const float factor = 1.0F / static_cast<float>(n_);
    std::size_t posted = 0, taken = 0, sent = 0, gone = 0;
    long pause = kShortestPause;
    while (taken < in_.size() || gone < out_.size()) {
      for (; posted < in_.size() && posted - taken < kWindow; ++posted) {
        const Segment& segment = in_[posted];
        float* to =
            segment.step < n - 1 ? &staging_[posted % kWindow * kSegment] : &result[segment.begin];
        MPI_Irecv(to, static_cast<int>(segment.count), MPI_FLOAT, left, 0, MPI_COMM_WORLD,
                  &receives_[posted % kWindow]);
      }
      // Received segments are sent on: after our own, one may be sent for every one taken.
      for (; sent < out_.size() && sent < own_segments_ + taken && sent - gone < kWindow; ++sent) {
        const Segment& segment = out_[sent];
        const float* from = segment.step == 0 ? &own[segment.begin] : &result[segment.begin];
        MPI_Isend(from, static_cast<int>(segment.count), MPI_FLOAT, right, 0, MPI_COMM_WORLD,
                  &sends_[sent % kWindow]);
      }
      const std::size_t before = taken + gone;
      for (; taken < posted && ended(receives_[taken % kWindow]); ++taken) {
        const Segment& segment = in_[taken];
        if (segment.step >= n - 1) continue;
        const float* theirs = &staging_[taken % kWindow * kSegment];
        const float scale = segment.step == n - 2 ? factor : 1.0F;
        for (std::size_t i = 0; i < segment.count; ++i)
          result[segment.begin + i] = (own[segment.begin + i] + theirs[i]) * scale;
      }
      while (gone < sent && ended(sends_[gone % kWindow])) ++gone;
      if (taken + gone != before) {
        pause = kShortestPause;
      } else if (!spin_) {
        const timespec moment = {0, pause};
        nanosleep(&moment, nullptr);
        pause = std::min(2 * pause, kLongestPause);
      }
    }
  }

 private:
  static bool ended(MPI_Request& request) {
    int flag = 0;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

  bool spin_;
  int rank_ = 0, n_ = 1;
  std::vector<Segment> out_, in_;
  std::size_t own_segments_ = 0;  // of the chunk that is this rank's to send first
  std::vector<float> staging_;
  MPI_Request receives_[kWindow], sends_[kWindow];
};

// The default of the machine may be bbr, which paces; both programs are to run the same.
void set_congestion_control(const char* name) {
  for (int descriptor = 3; descriptor < 1024; ++descriptor)
    setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name,
               static_cast<socklen_t>(std::strlen(name)));
}

float value_of(int rank, std::size_t index) {
  return static_cast<float>(index % 1000) + static_cast<float>(rank);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  prctl(PR_SET_TIMERSLACK, 1UL);
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t elements = std::strtoul(argv[1], nullptr, 10);
  const int blocks = std::atoi(argv[2]), steps = std::atoi(argv[3]);
  const int gate = open((std::string(argv[6]) + "." + std::to_string(rank)).c_str(), O_RDWR);
  const int done = open((std::string(argv[6]) + ".done").c_str(), O_RDWR);
  std::vector<float> own(elements), result(elements);
  for (std::size_t i = 0; i < elements; ++i) own[i] = value_of(rank, i);
  Ring ring(elements, std::strcmp(argv[4], "spin") == 0);
  ring.all_reduce(own, result);  // connects
  set_congestion_control(argv[5]);

  std::vector<double> seconds, since_end;
  for (int block = 0; block < blocks; ++block) {
    char byte = 0;
    if ((rank == 0 && write(done, &byte, 1) != 1) || read(gate, &byte, 1) != 1) return 1;
    double end = MPI_Wtime();
    for (int step = 0; step < steps; ++step) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime(), before = end;
      ring.all_reduce(own, result);
      end = MPI_Wtime();
      seconds.push_back(end - begin);
      since_end.push_back(end - before);
    }
  }

  int wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const float mean = static_cast<float>(i % 1000) + static_cast<float>(ranks - 1) / 2;
    if (!(std::fabs(result[i] - mean) <= 1e-4F * (mean + 1))) wrong = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  std::vector<double> slowest(seconds.size());
  MPI_Reduce(seconds.data(), slowest.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
             0, MPI_COMM_WORLD);
  if (rank == 0 && wrong == 0) {
    std::printf("sum ok\n");
    for (std::size_t i = 0; i < slowest.size(); ++i)
      std::printf("%.9f %.9f\n", slowest[i], since_end[i]);
  }
  char byte = 0;
  if (rank == 0 && write(done, &byte, 1) != 1) wrong = 1;
  MPI_Finalize();
  return wrong;
}
