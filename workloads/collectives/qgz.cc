// qgZ, its closed form and its collective.
#include "workloads/collectives/qgz.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/blocks.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"

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

QgzOptions::Gather gather_named(const std::string& name) {
  if (name == "int4") return QgzOptions::Gather::kInt4;
  return name == "fp32" ? QgzOptions::Gather::kFloat : QgzOptions::Gather::kInt8;
}

}  // namespace

Qgz::Qgz(const QgzOptions& options, int ranks)
    : options_(options), groups_(static_cast<std::size_t>(ranks / options.group)) {
  if (ranks % options.group != 0)
    throw InputError(
        fmt::format("qgz: groups of {} ranks do not divide {} ranks; expected a divisor",
                    options.group, ranks));
}

BlockFormat Qgz::format(BlockElement element) const {
  return {.element = element, .scale = BlockScale::kF32, .block = options_.block};
}

BlockFormat Qgz::gather_format() const {
  return format(options_.gather == QgzOptions::Gather::kInt4 ? BlockElement::kInt4
                                                             : BlockElement::kInt8);
}

CodedSlices Qgz::coded_slices(std::size_t elements) const {
  CodedSlices coded{
      .codes = parse_spec(fmt::format("blockint4:memory=none,block={}", options_.block)),
      .elements = {}};
  for (std::size_t j = 0; j < static_cast<std::size_t>(options_.group); ++j)
    coded.elements.push_back(slice(elements, j).size());
  return coded;
}

Qgz::Range Qgz::slice(std::size_t elements, std::size_t j) const {
  const auto group = static_cast<std::size_t>(options_.group);
  return {elements * j / group, elements * (j + 1) / group};
}

Qgz::Range Qgz::chunk(std::size_t elements, std::size_t j, std::size_t b) const {
  const Range whole = slice(elements, j);
  return {whole.begin + whole.size() * b / groups_, whole.begin + whole.size() * (b + 1) / groups_};
}

std::size_t Qgz::reduced_bytes(std::size_t elements) const {
  return block_bytes(format(BlockElement::kInt4), elements);
}

std::size_t Qgz::gathered_bytes(std::size_t elements) const {
  return gathers_floats() ? elements * sizeof(float) : block_bytes(gather_format(), elements);
}

template <class Ranges, class Peers, class Codes>
void Qgz::exchange(Transport& transport, std::size_t parts, std::size_t own_part, Ranges ranges,
                   Peers peers, Codes codes, std::vector<float>& sum) {
  const BlockFormat int4 = format(BlockElement::kInt4);
  const std::size_t size = ranges(own_part).size(), bytes = reduced_bytes(size);
  std::size_t out = 0;
  for (std::size_t i = 0; i < parts; ++i) out += reduced_bytes(ranges(i).size());
  outgoing_.resize(out);
  incoming_.resize(parts * bytes);
  const auto incoming = [&](std::size_t part) {
    return std::span(incoming_).subspan(part * bytes, bytes);
  };
  // Every rank sends to the next peer first, so that no rank receives from all at the same time.
  out = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t to = (own_part + i) % parts, from = (own_part + parts - i) % parts;
    const auto into = i == 0 ? incoming(own_part)
                             : std::span(outgoing_).subspan(out, reduced_bytes(ranges(to).size()));
    const std::span<const std::byte> coded = codes(to, into);
    if (i == 0) {
      if (coded.data() != into.data()) std::copy(coded.begin(), coded.end(), into.begin());
      continue;
    }
    out += into.size();
    streams_.send(peers(to), coded);
    streams_.receive(peers(from), incoming(from));
  }
  streams_.run(transport);
  sum.assign(size, 0.0F);
  for (std::size_t i = 0; i < parts; ++i) add_part(int4, incoming(i), peers(i), sum);
}

void Qgz::run(Transport& transport, std::span<const float> own, std::span<float> result,
              float factor) {
  run_levels(
      transport,
      [&](std::size_t j, std::span<std::byte> space) {
        const Range range = slice(own.size(), j);
        encode_part(format(BlockElement::kInt4), own.subspan(range.begin, range.size()), space);
        return std::span<const std::byte>(space);
      },
      result, factor);
}

void Qgz::run_coded(Transport& transport, std::span<const std::span<const std::byte>> slices,
                    std::span<float> result, float factor) {
  run_levels(
      transport,
      [&](std::size_t j, std::span<std::byte> space) {
        if (slices[j].size() != space.size())
          throw InputError(fmt::format("qgz: slice {} has {} bytes; expected {}", j,
                                       slices[j].size(), space.size()));
        return slices[j];
      },
      result, factor);
}

template <class Codes>
void Qgz::run_levels(Transport& transport, Codes codes, std::span<float> result, float factor) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  const auto g = static_cast<std::size_t>(options_.group);
  const std::size_t j = rank % g, b = rank / g, d = result.size();
  exchange(
      transport, g, j, [&](std::size_t i) { return slice(d, i); },
      [&](std::size_t i) { return static_cast<int>(b * g + i); }, codes, slice_);
  const std::size_t offset = slice(d, j).begin;
  exchange(
      transport, groups_, b, [&](std::size_t i) { return chunk(d, j, i); },
      [&](std::size_t i) { return static_cast<int>(i * g + j); },
      [&](std::size_t i, std::span<std::byte> space) {
        const Range range = chunk(d, j, i);
        encode_part(format(BlockElement::kInt4),
                    std::span(slice_).subspan(range.begin - offset, range.size()), space);
        return std::span<const std::byte>(space);
      },
      chunk_);
  for (float& value : chunk_) value *= factor;
  sizes_.resize(n);
  std::size_t total = 0, before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == rank) before = total;
    sizes_[i] = gathered_bytes(chunk(d, i % g, i / g).size());
    total += sizes_[i];
  }
  gathered_.resize(total);
  const std::span<std::byte> mine = std::span(gathered_).subspan(before, sizes_[rank]);
  if (!gathers_floats())
    encode_part(gather_format(), chunk_, mine);
  else if (!mine.empty())
    std::memcpy(mine.data(), chunk_.data(), mine.size());
  gather_.run(transport, sizes_, gathered_);
  std::fill(result.begin(), result.end(), 0.0F);
  std::span<const std::byte> left = gathered_;
  for (std::size_t from = 0; from < n; left = left.subspan(sizes_[from++])) {
    const Range range = chunk(d, from % g, from / g);
    const auto part = result.subspan(range.begin, range.size());
    if (!gathers_floats())
      add_part(gather_format(), left.first(sizes_[from]), static_cast<int>(from), part);
    else if (!part.empty())
      std::memcpy(part.data(), left.data(), sizes_[from]);
  }
}

void Qgz::expected(std::span<const std::span<const float>> arrays, float factor,
                   std::span<float> out) const {
  const auto quantised = [&](const char* method, std::span<const float> values) {
    const Spec spec = parse_spec(fmt::format("{}:memory=none,block={}", method, options_.block));
    const auto compressor =
        make_compressor(spec, {"", {static_cast<std::int64_t>(values.size())}, values.size()}, {});
    std::vector<std::byte> payload(compressor->max_encoded_size());
    const auto report = compressor->encode({.values = values, .squares = {}}, payload);
    std::vector<float> decoded(values.size(), 0.0F);
    compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1.0F, decoded);
    return decoded;
  };
  const auto g = static_cast<std::size_t>(options_.group);
  const auto add = [](std::vector<float>& sum, const std::vector<float>& values) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  };
  for (std::size_t j = 0; j < g; ++j) {
    const Range whole = slice(out.size(), j);
    std::vector<std::vector<float>> sums;  // of every group
    for (std::size_t b = 0; b < groups_; ++b) {
      sums.emplace_back(whole.size(), 0.0F);
      for (std::size_t i = 0; i < g; ++i)
        add(sums[b], quantised("blockint4", arrays[b * g + i].subspan(whole.begin, whole.size())));
    }
    for (std::size_t b = 0; b < groups_; ++b) {
      const Range range = chunk(out.size(), j, b);
      std::vector<float> sum(range.size(), 0.0F);
      for (const std::vector<float>& of_group : sums)
        add(sum, quantised("blockint4",
                           std::span(of_group).subspan(range.begin - whole.begin, range.size())));
      for (float& value : sum) value *= factor;
      if (!gathers_floats())
        sum = quantised(options_.gather == QgzOptions::Gather::kInt4 ? "blockint4" : "blockint8",
                        sum);
      std::copy(sum.begin(), sum.end(), out.begin() + static_cast<std::ptrdiff_t>(range.begin));
    }
  }
}

QgzOptions qgz_options(const Parameters& parameters) {
  return {.group = static_cast<int>(parameters.integer("group")),
          .block = std::stoul(parameters.choice("block")),
          .gather = gather_named(parameters.choice("gather"))};
}

// At the first level a rank sends one slice to every other rank of its group. At the second level
// it sends one chunk to one rank of every other group. Slices differ by one element at most, as do
// the chunks of a slice.
Traffic qgz_reduce_traffic(std::size_t elements, const QgzOptions& options, int ranks, int rank) {
  const Qgz qgz(options, ranks);
  const auto n = static_cast<std::size_t>(ranks), g = static_cast<std::size_t>(options.group);
  const std::size_t j = static_cast<std::size_t>(rank) % g, b = static_cast<std::size_t>(rank) / g;
  const auto reduced = [&](Qgz::Range range) {
    return plain_message(qgz.reduced_bytes(range.size()));
  };
  Traffic traffic;
  for (std::size_t i = 0; i < g; ++i) {
    if (i == j) continue;
    traffic.sent = traffic.sent + reduced(qgz.slice(elements, i));
    traffic.received = traffic.received + reduced(qgz.slice(elements, j));
  }
  for (std::size_t i = 0; i < n / g; ++i) {
    if (i == b) continue;
    traffic.sent = traffic.sent + reduced(qgz.chunk(elements, j, i));
    traffic.received = traffic.received + reduced(qgz.chunk(elements, j, b));
  }
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < n; ++i)
    sizes.push_back(qgz.gathered_bytes(qgz.chunk(elements, i % g, i / g).size()));
  const Traffic gathered = block_gather_traffic(sizes, rank);
  return {.sent = traffic.sent + gathered.sent, .received = traffic.received + gathered.received};
}

namespace {

constexpr const char* kSumsFloats =
    "it quantises 32-bit floats itself; expected compressor none, or another collective";

template <class Float, class Bytes>
std::span<Float> floats_in(Bytes bytes) {
  return {reinterpret_cast<Float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class QgzCollective : public Collective, public CodedAllReduce {
 public:
  QgzCollective(std::unique_ptr<Transport> transport, const QgzOptions& options)
      : transport_(std::move(transport)), qgz_(options, transport_->size()) {}

  using AllReduce::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    if (type != ElementType::kFloat32) throw InputError(kSumsFloats);
    qgz_.run(*transport_, floats_in<const float>(own), floats_in<float>(result), factor);
  }
  CodedSlices coded_slices(std::size_t elements) const override {
    return qgz_.coded_slices(elements);
  }
  void all_reduce_coded(std::span<const std::span<const std::byte>> slices, std::span<float> result,
                        float factor) override {
    qgz_.run_coded(*transport_, slices, result, factor);
  }
  void expected_all_reduce(ElementType, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    qgz_.expected(arrays, factor, out);
  }
  bool lossy(ElementType) const override { return true; }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  Qgz qgz_;
};

FlowGraph qgz_flows(const Parameters& parameters, std::size_t elements, int ranks) {
  const QgzOptions options = qgz_options(parameters);
  const Qgz qgz(options, ranks);
  const auto n = static_cast<std::size_t>(ranks);
  const auto g = static_cast<std::size_t>(options.group);
  const std::size_t groups = n / g;
  PhaseFlows flows(ranks, PhaseFlows::Order::kTurns);
  flows.begin_phase();
  for (std::size_t i = 1; i < g; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank % g + i) % g;
      flows.send(static_cast<int>(rank), static_cast<int>(rank / g * g + to),
                 qgz.reduced_bytes(qgz.slice(elements, to).size()));
    }
  flows.begin_phase();
  for (std::size_t i = 1; i < groups; ++i)
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank / g + i) % groups, j = rank % g;
      flows.send(static_cast<int>(rank), static_cast<int>(to * g + j),
                 qgz.reduced_bytes(qgz.chunk(elements, j, to).size()));
    }
  std::vector<std::size_t> blocks;
  for (std::size_t i = 0; i < n; ++i)
    blocks.push_back(qgz.gathered_bytes(qgz.chunk(elements, i % g, i / g).size()));
  flows.gather_blocks(blocks);
  return flows.take();
}

const CollectiveRegistration kQgz{
    {.name = "qgz",
     .summary = "reduce-scatter of 4-bit integers within groups, then between groups; all-gather",
     .source = "Wang et al., ZeRO++, section 3.3 (qgZ), arXiv 2306.10209",
     .parameters = {integer_parameter("group", "2",
                                      "ranks of a group; must divide the number of ranks", 1, 1024),
                    choice_parameter("block", "256", "elements with one scale",
                                     {"32", "64", "128", "256", "512", "1024", "2048"}),
                    choice_parameter("gather", "int8", "format of the all-gathered mean",
                                     {"int8", "int4", "fp32"})},
     .reduce =
         ReduceForm{
             .traffic =
                 [](const Parameters& parameters, const SummedArray& array, int ranks, int rank) {
                   if (array.type != ElementType::kFloat32) throw InputError(kSumsFloats);
                   return qgz_reduce_traffic(array.elements, qgz_options(parameters), ranks, rank);
                 },
             .steps =
                 [](const Parameters& parameters, int ranks) {
                   const int group = qgz_options(parameters).group, groups = ranks / group;
                   return (group > 1 ? 1 : 0) + (groups > 1 ? 1 : 0) + ceil_log2(ranks);
                 },
             // Bruck's steps, and a message to each other rank of the group and of the ring.
             .messages =
                 [](const Parameters& parameters, int ranks) {
                   const double n = ranks, group = qgz_options(parameters).group;
                   return n * (group - 1 + n / group - 1 + std::ceil(std::log2(n)));
                 },
             .flows = qgz_flows},
     .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                std::size_t) -> std::unique_ptr<Collective> {
       return std::make_unique<QgzCollective>(std::move(transport), qgz_options(parameters));
     },
     .check_ranks = [](const Parameters& parameters,
                       int ranks) { Qgz(qgz_options(parameters), ranks); },
     .refuses = [](const Spec&, const Spec& compressor) -> std::string {
       return summation_of(compressor).element == ElementType::kFloat32 ? "" : kSumsFloats;
     }}};

}  // namespace
}  // namespace thinpipe
