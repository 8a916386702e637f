// Cost of an exact top-k by CUB on a GPU, from the tensor to positions and values. Not part of
// the build:
//   nvcc -O3 -std=c++20 -arch=sm_90 docs/peers/peers.cu -o peers-gpu && ./peers-gpu
// Prints one JSON object a line, with the fields of peers.py --json. Inputs rotate through twice the
// L2 cache; times are CUDA events around as many calls as take 20 ms, checked against the host's
// clock.
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <functional>
#include <random>
#include <vector>
#if __has_include(<cub/device/device_topk.cuh>)
#include <cub/device/device_topk.cuh>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#define PEERS_HAS_TOPK 1
#else  // CCCL before 3.1, which CUDA 13.0 has
#define PEERS_HAS_TOPK 0
#endif

namespace {

void check(cudaError_t error, const char* attempt) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", attempt, cudaGetErrorString(error));
  std::exit(4);
}

template <class T>
T* device_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(count, 1) * sizeof(T)), "allocate");
  return static_cast<T*>(memory);
}

// Everything but the inputs, allocated once.
struct Workspace {
  float* magnitudes;
  float* sorted;
  std::uint32_t* positions;
  std::uint32_t* sorted_positions;
  float* values;  // what is sent, beside sorted_positions
  void* temporary;
  std::size_t temporary_bytes;
};

__global__ void split(const float* g, std::uint32_t n, float* magnitudes,
                      std::uint32_t* positions) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  magnitudes[i] = fabsf(g[i]);
  positions[i] = i;
}

__global__ void take(const float* g, const std::uint32_t* positions, std::uint32_t k,
                     float* values) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < k) values[i] = g[positions[i]];
}

constexpr unsigned kThreads = 256;
unsigned blocks_of(std::uint32_t n) { return (n + kThreads - 1) / kThreads; }

cudaError_t sort_pairs(Workspace& work, void* temporary, std::size_t& bytes, std::uint32_t n) {
  return cub::DeviceRadixSort::SortPairsDescending(temporary, bytes, work.magnitudes, work.sorted,
                                                   work.positions, work.sorted_positions, n, 0, 32);
}

void by_radix_sort(const float* g, std::uint32_t n, std::uint32_t k, Workspace& work) {
  split<<<blocks_of(n), kThreads>>>(g, n, work.magnitudes, work.positions);
  check(sort_pairs(work, work.temporary, work.temporary_bytes, n), "sort");
  take<<<blocks_of(k), kThreads>>>(g, work.sorted_positions, k, work.values);
}

#if PEERS_HAS_TOPK
struct Magnitude {
  __host__ __device__ float operator()(float x) const { return fabsf(x); }
};

cudaError_t top_pairs(const float* g, Workspace& work, void* temporary, std::size_t& bytes,
                      std::uint32_t n, std::uint32_t k) {
  const auto requirements = cuda::execution::require(
      cuda::execution::determinism::not_guaranteed, cuda::execution::output_ordering::unsorted);
  return cub::DeviceTopK::MaxPairs(temporary, bytes,
                                   thrust::make_transform_iterator(g, Magnitude()), work.sorted,
                                   thrust::counting_iterator<std::uint32_t>(0),
                                   work.sorted_positions, n, k, requirements);
}

void by_topk(const float* g, std::uint32_t n, std::uint32_t k, Workspace& work) {
  check(top_pairs(g, work, work.temporary, work.temporary_bytes, n, k), "find the top k");
  take<<<blocks_of(k), kThreads>>>(g, work.sorted_positions, k, work.values);
}
#endif

// Seconds of a call, by events around `calls` of them.
double timed(const std::function<void(std::size_t)>& call, int calls, std::size_t& turn) {
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (begin == nullptr) {
    check(cudaEventCreate(&begin), "make an event");
    check(cudaEventCreate(&end), "make an event");
  }
  check(cudaDeviceSynchronize(), "wait");
  const auto start = std::chrono::steady_clock::now();
  check(cudaEventRecord(begin), "record");
  for (int i = 0; i < calls; ++i) call(turn++);
  check(cudaEventRecord(end), "record");
  check(cudaDeviceSynchronize(), "wait");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  check(cudaGetLastError(), "run kernels");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "read events");
  const double seconds = 1e-3 * static_cast<double>(milliseconds);
  if (std::fabs(wall.count() - seconds) > 0.02 * wall.count() + 2e-4) {
    std::fprintf(stderr, "%.3f ms by events, %.3f ms by the host's clock: not to be trusted\n",
                 1e3 * seconds, 1e3 * wall.count());
    std::exit(4);
  }
  return seconds / calls;
}

// The k-th magnitude of what was sent is that of the tensor, and there are k.
void verify(const std::vector<float>& g, std::uint32_t k, const Workspace& work,
            const char* method) {
  std::vector<float> sent(k), magnitudes(g.size());
  check(cudaMemcpy(sent.data(), work.values, k * sizeof(float), cudaMemcpyDeviceToHost), "fetch");
  for (std::size_t i = 0; i < g.size(); ++i) magnitudes[i] = std::fabs(g[i]);
  std::nth_element(magnitudes.begin(), magnitudes.begin() + (k - 1), magnitudes.end(),
                   std::greater<>());
  float least = INFINITY;
  for (const float value : sent) least = std::min(least, std::fabs(value));
  if (least == magnitudes[k - 1]) return;
  std::fprintf(stderr, "%s sent %.9g as the least; the k-th is %.9g\n", method, least,
               magnitudes[k - 1]);
  std::exit(4);
}

}  // namespace

int main(int count, char** words) {
  const std::size_t d = count > 1 ? std::strtoull(words[1], nullptr, 10) : 26000000;
  const int repetitions = count > 2 ? std::atoi(words[2]) : 7;
  if (d == 0 || d > 1000000000 || repetitions < 1) {
    std::fprintf(stderr, "usage: peers-gpu [ELEMENTS [REPETITIONS]]\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no GPU\n");
    return 77;
  }
  cudaDeviceProp gpu;
  check(cudaGetDeviceProperties(&gpu, 0), "ask for the device");
  std::mt19937_64 random(1);
  std::vector<float> g(d);  // Laplace(0, 1)
  for (float& value : g) {
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53 - 0.5;
    value = static_cast<float>(std::copysign(std::log1p(-2 * std::fabs(u)), u));
  }
  const auto n = static_cast<std::uint32_t>(d);
  const std::size_t cache = 2 * static_cast<std::size_t>(gpu.l2CacheSize);
  std::vector<float*> inputs((cache + d * sizeof(float) - 1) / (d * sizeof(float)));
  if (inputs.empty()) inputs.resize(1);
  for (float*& input : inputs) {
    input = device_array<float>(d);
    check(cudaMemcpy(input, g.data(), d * sizeof(float), cudaMemcpyHostToDevice), "upload");
  }
  Workspace work{device_array<float>(d),         device_array<float>(d),
                 device_array<std::uint32_t>(d), device_array<std::uint32_t>(d),
                 device_array<float>(d),         nullptr,
                 0};
  check(sort_pairs(work, nullptr, work.temporary_bytes, n), "ask what sorting takes");
  using Method = void (*)(const float*, std::uint32_t, std::uint32_t, Workspace&);
  std::vector<std::pair<const char*, Method>> methods = {{"CUB radix sort + gather", by_radix_sort}};
#if PEERS_HAS_TOPK
  std::size_t bytes = 0;
  check(top_pairs(inputs[0], work, nullptr, bytes, n, n), "ask what the top k takes");
  work.temporary_bytes = std::max(work.temporary_bytes, bytes);
  methods.push_back({"CUB DeviceTopK + gather", by_topk});
#else
  std::fprintf(stderr, "this CCCL has no cub::DeviceTopK (3.1 and newer have): left out\n");
#endif
  work.temporary = device_array<char>(work.temporary_bytes);
  for (const auto& [name, method] : methods) {
    for (const double ratio : {0.1, 0.01, 0.001}) {
      const auto k =
          static_cast<std::uint32_t>(std::max(1.0, std::ceil(ratio * static_cast<double>(d))));
      std::size_t turn = 0;
      const auto call = [&, run = method](std::size_t i) {
        run(inputs[i % inputs.size()], n, k, work);
      };
      const double once = timed(call, 3, turn);
      const int calls = static_cast<int>(std::clamp(0.02 / once, 3.0, 2000.0));
      std::vector<double> all;
      for (int i = 0; i < repetitions; ++i)
        all.push_back(1e9 * timed(call, calls, turn) / static_cast<double>(d));
      verify(g, k, work, name);
      std::vector<double> sorted = all;
      std::sort(sorted.begin(), sorted.end());
      std::printf("{\"method\": \"%s\", \"ratio\": %g, \"elements\": %zu, \"malloc\": \"device\", "
                  "\"device\": \"%s\", \"ns_per_element\": %.6g, \"all_ns_per_element\": [",
                  name, ratio, d, gpu.name, sorted[sorted.size() / 2]);
      for (std::size_t i = 0; i < all.size(); ++i)
        std::printf("%s%.6g", i == 0 ? "" : ", ", all[i]);
      std::printf("], \"selected_share\": 1}\n");
      std::fflush(stdout);
    }
  }
  return 0;
}
