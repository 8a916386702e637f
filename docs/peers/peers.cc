// Cost of an exact top-k in C++ libraries: find the k-th magnitude, then compact. One thread.
// Not part of the build:
//   g++ -O3 -march=native -std=c++20 docs/peers/peers.cc -lhwy_contrib -lhwy -o peers && ./peers
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace {

struct Workspace {
  std::vector<float> magnitudes;
  std::vector<std::uint32_t> positions;
  std::vector<float> values;
};

// As the loops of libraries do it, without a branch; the compiler is free to make it vectors.
std::size_t compact(const std::vector<float>& g, float threshold, Workspace& work) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    work.positions[count] = static_cast<std::uint32_t>(i);
    work.values[count] = g[i];
    count += std::fabs(g[i]) >= threshold ? 1 : 0;
  }
  return count;
}

void copy_magnitudes(const std::vector<float>& g, Workspace& work) {
  for (std::size_t i = 0; i < g.size(); ++i) work.magnitudes[i] = std::fabs(g[i]);
}

std::size_t by_nth_element(const std::vector<float>& g, std::size_t k, Workspace& work) {
  copy_magnitudes(g, work);
  const auto kth = work.magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(work.magnitudes.begin(), kth, work.magnitudes.end(), std::greater<>());
  return compact(g, *kth, work);
}

std::size_t by_vqsort(const std::vector<float>& g, std::size_t k, Workspace& work) {
  copy_magnitudes(g, work);
  static hwy::Sorter sorter;
  sorter(work.magnitudes.data(), work.magnitudes.size(), hwy::SortDescending());
  return compact(g, work.magnitudes[k - 1], work);
}

double median_nanoseconds(const std::function<void()>& work, int repetitions) {
  std::vector<double> times;
  work();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  const std::size_t d = count > 1 ? std::strtoull(words[1], nullptr, 10) : 26000000;
  const int repetitions = count > 2 ? std::atoi(words[2]) : 7;
  if (d == 0 || repetitions < 1) {
    std::fprintf(stderr, "usage: peers [ELEMENTS [REPETITIONS]]\n");
    return 2;
  }
  std::mt19937_64 random(1);
  std::vector<float> g(d);  // Laplace(0, 1)
  for (float& value : g) {
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53 - 0.5;
    value = static_cast<float>(std::copysign(std::log1p(-2 * std::fabs(u)), u));
  }
  Workspace work{std::vector<float>(d), std::vector<std::uint32_t>(d + 1),
                 std::vector<float>(d + 1)};
  using Method = std::size_t (*)(const std::vector<float>&, std::size_t, Workspace&);
  const std::pair<const char*, Method> methods[] = {{"std::nth_element + compact", by_nth_element},
                                                    {"VQSort (Highway) + compact", by_vqsort}};
  std::printf("%-30s%8s%8s%8s   ns/element, %zu elements\n", "ratio", "0.1", "0.01", "0.001", d);
  for (const auto& [name, method] : methods) {
    std::printf("%-30s", name);
    for (const double ratio : {0.1, 0.01, 0.001}) {
      const auto k =
          static_cast<std::size_t>(std::max(1.0, std::ceil(ratio * static_cast<double>(d))));
      std::size_t found = 0;
      const double time = median_nanoseconds([&] { found = method(g, k, work); }, repetitions);
      if (found < k) {
        std::fprintf(stderr, "%s found %zu elements, not %zu\n", name, found, k);
        return 4;
      }
      std::printf("%8.2f", time / static_cast<double>(d));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return 0;
}
