// The collective `qgz`: an all-reduce that sends 4-bit integers, in two levels (ZeRO++'s qgZ).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/blocks.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/streams.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

std::size_t block_bytes(const BlockFormat& format, std::size_t elements) {
  return block_count(format, elements) * scale_bytes(format.scale) + code_bytes(format, elements);
}

// Writes scales, then codes, as in payloads of `blockint4` and `blockint8` (docs/wire-format.md,
// 1.3).
void encode_part(const BlockFormat& format, std::span<const float> values,
                 std::span<std::byte> out) {
  if (values.empty()) return;
  std::byte* const codes =
      out.data() + block_count(format, values.size()) * scale_bytes(format.scale);
  encode_blocks(format, {}, {}, values, {}, out.data(), reinterpret_cast<std::uint8_t*>(codes));
}

// Adds the decoded bytes, of the right length, to `sum`. @throws PayloadError for malformed bytes
void add_part(const BlockFormat& format, std::span<const std::byte> bytes, int sender,
              std::span<float> sum) {
  if (sum.empty()) return;
  const std::byte* const codes =
      bytes.data() + block_count(format, sum.size()) * scale_bytes(format.scale);
  const BlockProblem problem =
      decode_blocks(format, {}, bytes.data(), reinterpret_cast<const std::uint8_t*>(codes), 1, sum);
  if (problem == BlockProblem::kNone) return;
  throw PayloadError(fmt::format("quantised array of rank {}: {}", sender,
                                 problem == BlockProblem::kScale
                                     ? "a scale is not a finite number of at least 0"
                                     : "its padding is not zero"));
}

// A range of elements, [begin, end).
struct Range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

// Divides arrays into parts, and has the formats of the parts.
struct QgzLayout {
  // @throws InputError unless groups are of equal size
  QgzLayout(const Parameters& parameters, int ranks);

  // Returns the range that the j-th rank of every group adds up in step 1.
  Range slice(std::size_t elements, std::size_t j) const {
    return {elements * j / group, elements * (j + 1) / group};
  }
  // Returns the range that the j-th rank of group b adds up in step 2.
  Range chunk(std::size_t elements, std::size_t j, std::size_t b) const {
    const Range whole = slice(elements, j);
    return {whole.begin + whole.size() * b / groups, whole.begin + whole.size() * (b + 1) / groups};
  }
  Range chunk_of_rank(std::size_t elements, std::size_t rank) const {
    return chunk(elements, rank % group, rank / group);
  }
  BlockFormat format(BlockElement element) const {
    return {.element = element, .scale = BlockScale::kF32, .block = block};
  }
  // gather_format() is valid unless the all-gather is of floats.
  BlockFormat reduce_format() const { return format(BlockElement::kInt4); }
  BlockFormat gather_format() const {
    return format(gather == "int4" ? BlockElement::kInt4 : BlockElement::kInt8);
  }
  bool gathers_floats() const { return gather == "fp32"; }
  // Return the bytes of so many elements in the reduce-scatter and in the all-gather.
  std::size_t reduced_bytes(std::size_t elements) const {
    return block_bytes(reduce_format(), elements);
  }
  std::size_t gathered_bytes(std::size_t elements) const {
    return gathers_floats() ? elements * sizeof(float) : block_bytes(gather_format(), elements);
  }
  // Returns the bytes that each rank contributes to the all-gather, by rank.
  std::vector<std::size_t> gathered_sizes(std::size_t elements) const {
    std::vector<std::size_t> sizes;
    for (std::size_t rank = 0; rank < group * groups; ++rank)
      sizes.push_back(gathered_bytes(chunk_of_rank(elements, rank).size()));
    return sizes;
  }

  std::size_t group, groups;  // consecutive ranks of a group; groups
  std::size_t block;          // elements with one scale (BlockFormat::block)
  std::string gather;         // format of the all-gathered mean: int8, int4 or fp32
};

QgzLayout::QgzLayout(const Parameters& parameters, int ranks)
    : group(parameters.count("group")),
      groups(static_cast<std::size_t>(ranks) / group),
      block(std::stoul(parameters.choice("block"))),
      gather(parameters.choice("gather")) {
  if (static_cast<std::size_t>(ranks) % group != 0)
    throw InputError(fmt::format(
        "qgz: groups of {} ranks do not divide {} ranks; expected a divisor", group, ranks));
}

constexpr const char* kSumsFloats =
    "it quantises 32-bit floats itself; expected compressor none, or another collective";

template <class Float, class Bytes>
std::span<Float> floats_in(Bytes bytes) {
  return {reinterpret_cast<Float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Implements qgZ (Wang et al., ZeRO++, arXiv 2306.10209, section 3.3), followed by an all-gather,
/// for n ranks in groups of g, with G = n / g:
///  1. Every rank cuts its array into g slices, quantises them to 4 bits and sends slice j to the
///     j-th rank of its own group. That rank decodes the slices to floats and adds them up in the
///     order of ranks.
///  2. Each slice's sum is quantised again and cut into G chunks. Chunk b is sent to the j-th rank
///     of group b, which adds up the chunks of all groups. By then each element has been quantised
///     twice for any n, where a ring would quantise it n - 1 times.
///  3. All ranks all-gather the chunks, times the factor (BlockGather): as 8-bit integers, as
///     ZeRO++ gathers weights (section 3.1), or in the format `gather`.
/// A rank's own slice is quantised as well, as by DeepSpeed. Rounding is to nearest. In ZeRO++
/// chunk i must end on rank i. In this implementation the j-th slice's chunks are contiguous, since
/// the all-gather needs no reordering.
class Qgz : public Collective, public CodedAllReduce {
 public:
  Qgz(std::unique_ptr<Transport> transport, const Parameters& parameters)
      : transport_(std::move(transport)), layout_(parameters, transport_->size()) {}

  using AllReduce::all_reduce;
  /// @throws PayloadError for a malformed array of another rank
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    if (type != ElementType::kFloat32) throw InputError(kSumsFloats);
    const auto values = floats_in<const float>(own);
    run_levels(
        [&](std::size_t j, std::span<std::byte> space) {
          const Range range = layout_.slice(values.size(), j);
          encode_part(layout_.reduce_format(), values.subspan(range.begin, range.size()), space);
          return std::span<const std::byte>(space);
        },
        floats_in<float>(result), factor);
  }

  CodedSlices coded_slices(std::size_t elements) const override {
    CodedSlices coded{
        .codes = parse_spec(fmt::format("blockint4:memory=none,block={}", layout_.block)),
        .elements = {}};
    for (std::size_t j = 0; j < layout_.group; ++j)
      coded.elements.push_back(layout_.slice(elements, j).size());
    return coded;
  }

  void all_reduce_coded(std::span<const std::span<const std::byte>> slices, std::span<float> result,
                        float factor) override {
    run_levels(
        [&](std::size_t j, std::span<std::byte> space) {
          if (slices[j].size() != space.size())
            throw InputError(fmt::format("qgz: slice {} has {} bytes; expected {}", j,
                                         slices[j].size(), space.size()));
          return slices[j];
        },
        result, factor);
  }

  /// Quantises by the registry's compressors.
  void expected_all_reduce(ElementType, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    const auto quantised = [&](const char* method, std::span<const float> values) {
      const Spec spec = parse_spec(fmt::format("{}:memory=none,block={}", method, layout_.block));
      const std::size_t count = values.size();
      const auto compressor =
          make_compressor(spec, {"", {static_cast<std::int64_t>(count)}, count}, {});
      std::vector<std::byte> payload(compressor->max_encoded_size());
      const auto report = compressor->encode({.values = values, .squares = {}}, payload);
      std::vector<float> decoded(count, 0.0F);
      compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1.0F, decoded);
      return decoded;
    };
    const std::size_t g = layout_.group, groups = layout_.groups;
    const auto add = [](std::vector<float>& sum, const std::vector<float>& values) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    };
    for (std::size_t j = 0; j < g; ++j) {
      const Range whole = layout_.slice(out.size(), j);
      std::vector<std::vector<float>> sums;  // of every group
      for (std::size_t b = 0; b < groups; ++b) {
        sums.emplace_back(whole.size(), 0.0F);
        for (std::size_t i = 0; i < g; ++i)
          add(sums[b],
              quantised("blockint4", arrays[b * g + i].subspan(whole.begin, whole.size())));
      }
      for (std::size_t b = 0; b < groups; ++b) {
        const Range range = layout_.chunk(out.size(), j, b);
        std::vector<float> sum(range.size(), 0.0F);
        for (const std::vector<float>& of_group : sums)
          add(sum, quantised("blockint4",
                             std::span(of_group).subspan(range.begin - whole.begin, range.size())));
        for (float& value : sum) value *= factor;
        if (!layout_.gathers_floats())
          sum = quantised(layout_.gather == "int4" ? "blockint4" : "blockint8", sum);
        std::copy(sum.begin(), sum.end(), out.begin() + static_cast<std::ptrdiff_t>(range.begin));
      }
    }
  }

  bool lossy(ElementType) const override { return true; }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  /// Runs one level of the reduce-scatter. Sends part i of the array, the elements ranges(i), to
  /// rank peers(i). codes(i, buffer) returns the quantised values of part i, and may write them to
  /// the buffer. Sets `sum` to the sum of all peers' values of the part own_part.
  template <class Ranges, class Peers, class Codes>
  void exchange(std::size_t parts, std::size_t own_part, Ranges ranges, Peers peers, Codes codes,
                std::vector<float>& sum) {
    const auto bytes_of = [&](std::size_t i) { return layout_.reduced_bytes(ranges(i).size()); };
    const std::size_t bytes = bytes_of(own_part);
    std::size_t out = 0;
    for (std::size_t i = 0; i < parts; ++i) out += bytes_of(i);
    outgoing_.resize(out);
    incoming_.resize(parts * bytes);
    const auto incoming = [&](std::size_t part) {
      return std::span(incoming_).subspan(part * bytes, bytes);
    };
    // Every rank sends to the next peer first, so that no rank receives from all at the same time.
    out = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t to = (own_part + i) % parts, from = (own_part + parts - i) % parts;
      const auto into =
          i == 0 ? incoming(own_part) : std::span(outgoing_).subspan(out, bytes_of(to));
      const std::span<const std::byte> coded = codes(to, into);
      if (i == 0) {
        if (coded.data() != into.data()) std::copy(coded.begin(), coded.end(), into.begin());
        continue;
      }
      out += into.size();
      streams_.send(peers(to), coded);
      streams_.receive(peers(from), incoming(from));
    }
    streams_.run(*transport_);
    sum.assign(ranges(own_part).size(), 0.0F);
    for (std::size_t i = 0; i < parts; ++i)
      add_part(layout_.reduce_format(), incoming(i), peers(i), sum);
  }

  /// @param codes  of slices
  template <class Codes>
  void run_levels(Codes codes, std::span<float> result, float factor) {
    const auto rank = static_cast<std::size_t>(transport_->rank());
    const std::size_t g = layout_.group, j = rank % g, b = rank / g, d = result.size();
    exchange(
        g, j, [&](std::size_t i) { return layout_.slice(d, i); },
        [&](std::size_t i) { return static_cast<int>(b * g + i); }, codes, slice_);
    const std::size_t offset = layout_.slice(d, j).begin;
    exchange(
        layout_.groups, b, [&](std::size_t i) { return layout_.chunk(d, j, i); },
        [&](std::size_t i) { return static_cast<int>(i * g + j); },
        [&](std::size_t i, std::span<std::byte> space) {
          const Range range = layout_.chunk(d, j, i);
          encode_part(layout_.reduce_format(),
                      std::span(slice_).subspan(range.begin - offset, range.size()), space);
          return std::span<const std::byte>(space);
        },
        chunk_);
    for (float& value : chunk_) value *= factor;
    const std::vector<std::size_t> sizes = layout_.gathered_sizes(d);
    const std::size_t before = std::accumulate(
        sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
    gathered_.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    const std::span<std::byte> mine = std::span(gathered_).subspan(before, sizes[rank]);
    if (!layout_.gathers_floats())
      encode_part(layout_.gather_format(), chunk_, mine);
    else if (!mine.empty())
      std::memcpy(mine.data(), chunk_.data(), mine.size());
    gather_.run(*transport_, sizes, gathered_);
    std::fill(result.begin(), result.end(), 0.0F);
    std::span<const std::byte> left = gathered_;
    for (std::size_t from = 0; from < sizes.size(); left = left.subspan(sizes[from++])) {
      const Range range = layout_.chunk_of_rank(d, from);
      const auto part = result.subspan(range.begin, range.size());
      if (!layout_.gathers_floats())
        add_part(layout_.gather_format(), left.first(sizes[from]), static_cast<int>(from), part);
      else if (!part.empty())
        std::memcpy(part.data(), left.data(), sizes[from]);
    }
  }

  std::unique_ptr<Transport> transport_;
  QgzLayout layout_;
  Streams streams_{4};
  BlockGather gather_;
  std::vector<std::byte> outgoing_, incoming_, gathered_;
  std::vector<float> slice_, chunk_;
};

// At the first level a rank sends one slice to every other rank of its group. At the second level
// it sends one chunk to one rank of every other group. Slices differ by one element at most, as do
// the chunks of a slice. docs/collectives.md derives the closed form.
Traffic qgz_traffic(const Parameters& parameters, const SummedArray& array, int ranks, int rank) {
  if (array.type != ElementType::kFloat32) throw InputError(kSumsFloats);
  const QgzLayout layout(parameters, ranks);
  const std::size_t elements = array.elements, g = layout.group;
  const std::size_t j = static_cast<std::size_t>(rank) % g, b = static_cast<std::size_t>(rank) / g;
  const auto reduced = [&](Range range) {
    return plain_message(layout.reduced_bytes(range.size()));
  };
  Traffic traffic;
  for (std::size_t i = 0; i < g; ++i)
    if (i != j)
      traffic =
          traffic + Traffic{reduced(layout.slice(elements, i)), reduced(layout.slice(elements, j))};
  for (std::size_t i = 0; i < layout.groups; ++i)
    if (i != b)
      traffic = traffic + Traffic{reduced(layout.chunk(elements, j, i)),
                                  reduced(layout.chunk(elements, j, b))};
  return traffic + block_gather_traffic(layout.gathered_sizes(elements), rank);
}

FlowGraph qgz_flows(const Parameters& parameters, std::size_t elements, int ranks) {
  const QgzLayout layout(parameters, ranks);
  const std::size_t n = static_cast<std::size_t>(ranks), g = layout.group;
  PhaseFlows flows(ranks, PhaseFlows::Order::kTurns);
  flows.begin_phase();
  for (std::size_t i = 1; i < g; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank % g + i) % g;
      flows.send(static_cast<int>(rank), static_cast<int>(rank / g * g + to),
                 layout.reduced_bytes(layout.slice(elements, to).size()));
    }
  flows.begin_phase();
  for (std::size_t i = 1; i < layout.groups; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank / g + i) % layout.groups, j = rank % g;
      flows.send(static_cast<int>(rank), static_cast<int>(to * g + j),
                 layout.reduced_bytes(layout.chunk(elements, j, to).size()));
    }
  flows.gather_blocks(layout.gathered_sizes(elements));
  return flows.take();
}

const CollectiveRegistration kQgz{
    {.name = "qgz",
     .summary = "reduce-scatter of 4-bit integers within groups, then between groups; all-gather",
     .source = "Wang et al., ZeRO++, section 3.3 (qgZ), arXiv 2306.10209",
     .parameters = {integer_parameter("group", "2",
                                      "ranks of a group; must divide the number of ranks", 1, 1024),
                    choice_parameter("block", "256", "elements that share a scale",
                                     {"32", "64", "128", "256", "512", "1024", "2048"}),
                    choice_parameter("gather", "int8", "format of the all-gathered mean",
                                     {"int8", "int4", "fp32"})},
     .reduce =
         ReduceForm{.traffic = qgz_traffic,
                    .steps =
                        [](const Parameters& parameters, int ranks) {
                          const int group = static_cast<int>(parameters.integer("group"));
                          const int groups = ranks / group;
                          return (group > 1 ? 1 : 0) + (groups > 1 ? 1 : 0) + ceil_log2(ranks);
                        },
                    // Bruck's steps, and a message to each other rank of the group and of the ring.
                    .messages =
                        [](const Parameters& parameters, int ranks) {
                          const double n = ranks,
                                       group = static_cast<double>(parameters.integer("group"));
                          return n * (group - 1 + n / group - 1 + std::ceil(std::log2(n)));
                        },
                    .flows = qgz_flows},
     .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                std::size_t) -> std::unique_ptr<Collective> {
       return std::make_unique<Qgz>(std::move(transport), parameters);
     },
     .check_ranks = [](const Parameters& parameters, int ranks) { QgzLayout(parameters, ranks); },
     .refuses = [](const Spec&, const Spec& compressor) -> std::string {
       return summation_of(compressor).element == ElementType::kFloat32 ? "" : kSumsFloats;
     },
     .lossy = true}};

}  // namespace
}  // namespace thinpipe
