// Fuzzes lists of pairs, and peers' messages in sparse all-reduces, with arbitrary bytes. The bytes
// must be refused, or the result must be a list of pairs.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scripted_transport.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/sparse_pairs.h"

namespace thinpipe::fuzz {
namespace {

void require_ascending(std::span<const SparsePair> pairs, std::size_t begin, std::size_t end) {
  std::uint64_t next = begin;
  for (const SparsePair& pair : pairs) {
    require(pair.index >= next && pair.index < end, "indices ascend within their range");
    next = std::uint64_t{pair.index} + 1;
  }
}

void require_ascending(SparseView view, std::size_t end) {
  require(view.indices.size() == view.values.size(), "every index has a value");
  std::uint64_t next = 0;
  for (const std::uint32_t index : view.indices) {
    require(index >= next && index < end, "indices ascend within their range");
    next = std::uint64_t{index} + 1;
  }
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_sum(const SparsePairs& a, const SparsePairs& b) {
  std::map<std::uint32_t, float> expected;
  for (const SparsePair& pair : a) expected[pair.index] = pair.value;
  for (const SparsePair& pair : b) {
    const auto [at, added] = expected.emplace(pair.index, pair.value);
    if (!added) at->second += pair.value;
  }
  SparsePairs sum;
  merge_sum(a, b, sum);
  require(sum.size() == expected.size(), "a sum has the indices of both");
  auto at = expected.begin();
  for (const SparsePair& pair : sum) {
    require(pair.index == at->first && same(pair.value, at->second), "values are added");
    ++at;
  }
}

void check_selection(const SparsePairs& pairs, std::size_t k) {
  SparsePairs kept = pairs, dropped;
  Reselection().keep_top(kept, k, dropped);
  require(kept.size() == std::min(k, pairs.size()), "k are kept");
  require(kept.size() + dropped.size() == pairs.size(), "the others are dropped");
  std::map<std::uint32_t, float> all;
  for (const SparsePairs* some : {&kept, &dropped}) {
    require_ascending(*some, 0, std::uint64_t{1} << 32);
    for (const SparsePair& pair : *some) all[pair.index] = pair.value;
  }
  for (const SparsePair& pair : pairs)
    require(all.contains(pair.index) && same(all[pair.index], pair.value), "nothing is made up");
  for (const SparsePair& stays : kept)
    for (const SparsePair& goes : dropped) {
      const auto one = magnitude_key(stays.value), other = magnitude_key(goes.value);
      require(one > other || (one == other && stays.index < goes.index), "the greatest are kept");
    }
}

/// The first bytes choose the list's position and its cut in two.
void check_lists(Input& input) {
  const std::size_t begin = input.get<std::uint8_t>(), end = input.get<std::uint32_t>();
  const std::size_t k = input.get<std::uint8_t>();
  const std::span<const std::byte> bytes = input.rest();
  const std::size_t cut = bytes.size() / sizeof(SparsePair) / 2 * sizeof(SparsePair);
  SparsePairs first, second;
  try {
    read_pairs(bytes.first(cut), 0, begin, end, first);
    read_pairs(bytes.subspan(cut), 1, begin, end, second);
  } catch (const PayloadError&) {
    return;
  }
  for (const SparsePairs* pairs : {&first, &second}) {
    require_ascending(*pairs, begin, end);
    check_selection(*pairs, k);
  }
  require((first.size() + second.size()) * sizeof(SparsePair) == bytes.size(), "all is read");
  check_sum(first, second);
}

/// Own elements: gaps of one byte, and a value of two.
struct Own {
  Own(Input& input, std::size_t dimension) {
    std::uint64_t next = 0;
    for (std::size_t count = input.get<std::uint8_t>() % 16; count > 0; --count) {
      next += input.get<std::uint8_t>();
      if (next >= dimension) return;
      indices.push_back(static_cast<std::uint32_t>(next++));
      values.push_back(static_cast<float>(input.get<std::int16_t>()) / 256);
    }
  }
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

void check_exchange(Input& input, int way) {
  const int ranks = 1 + input.get<std::uint8_t>() % 5;
  const int rank = input.get<std::uint8_t>() % ranks;
  const std::size_t dimension = 1 + input.get<std::uint8_t>() * 4U;
  const std::size_t k = input.get<std::uint8_t>() % (dimension + 1);
  const std::string putback = input.get<std::uint8_t>() % 2 == 0 ? "dropper" : "sender";
  const Own own(input, dimension);
  const auto collective =
      make_collective(parse_spec(way == 2 ? "oktopk:regions=2,thresholds=2,bucket=2,balance=1.5"
                                          : "gtopk:putback=" + putback),
                      std::make_unique<ScriptedTransport>(input, rank, ranks), 0);
  auto& sparse = operation<SparseAllReduce>(*collective);
  try {
    // Several calls: regions and thresholds are kept from one to the next.
    for (int call = 0; call < 3; ++call) {
      if (way == 0) {
        const std::size_t mean = sparse.mean_count(own.indices.size(), dimension);
        require(mean <= dimension, "a mean is within range");
        continue;
      }
      const SparseSum sum = sparse.sparse_all_reduce({own.indices, own.values}, k, dimension, 0.5F);
      require_ascending(sum.sum, dimension);
      require_ascending(sum.returned, dimension);
      require(way != 1 || sum.sum.size() <= k, "gtopk ends with k at most");
    }
  } catch (const PayloadError&) {
  } catch (const PeersAreSilent&) {
  }
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const int what = input.get<std::uint8_t>() % 4;
  if (what == 3) {
    fuzz::check_lists(input);
  } else {
    fuzz::check_exchange(input, what);
  }
  return 0;
}
