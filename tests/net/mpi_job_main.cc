// mpi_job BYTES [CODE]: every rank but 0 sends so many bytes to rank 0, and every rank reports the
// time as a step. With CODE, rank 1 ends with this exit code before it sends.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 2 && rank == 1) std::exit(std::atoi(argv[2]));
  std::vector<char> bytes(std::strtoul(argv[1], nullptr, 10));
  // Nobody sends before this rank has come to the barrier. After the barrier it may wait for a core
  // while the others send already.
  const double begin = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) {
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  } else {
    for (int other = 1; other < ranks; ++other)
      MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  }
  const double seconds = MPI_Wtime() - begin;
  if (const char* folder = std::getenv("THINPIPE_STEPS"))
    std::ofstream(std::string(folder) + "/" + std::to_string(rank))
        << "{\"step_time\": " << seconds << "}\n";
  std::printf("rank %d of %d took %.3f s\n", rank, ranks, seconds);
  MPI_Finalize();
}
