// Writes small seeds into the folders of a corpus: well-formed inputs of each target, from which a
// fuzzer derives malformed ones. Deterministic: seeds that exist already stay unchanged.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/random.h"
#include "compressors/registry.h"
#include "compressors/wire/frame.h"
#include "compressors/wire/states.h"
#include "tests/base/support.h"
#include "tests/fuzz/c_calls.h"
#include "tests/fuzz/specs.h"
#include "tests/trace/sample_trace.h"
#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/edit/edit.h"

namespace thinpipe::fuzz {
namespace {

namespace fs = std::filesystem;
using Bytes = std::string;

void write(const fs::path& folder, const std::string& name, const Bytes& bytes) {
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

/// The bytes of numbers, one after the other.
template <class... T>
Bytes packed(T... values) {
  Bytes bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return bytes;
}

Bytes text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Bytes as a transport of scripted peers and the calls of the C interface take them.
Bytes message_of(const Bytes& content) {
  return packed(static_cast<std::uint16_t>(content.size())) + content;
}

std::string file_name(const std::string& spec) {
  std::string name = spec;
  for (char& letter : name) {
    if (letter == ':' || letter == '=') letter = '-';
  }
  return name;
}

/// The first bytes of the inputs of decode and round_trip: see take_subject().
Bytes subject(const std::string& spec, std::uint8_t rows, std::uint8_t columns) {
  return packed(key_of(spec), rows, columns);
}

constexpr std::uint8_t kRows = 6;
constexpr std::uint8_t kColumns = 7;

/// A compressor after its first exchange, and its payload.
struct Encoded {
  std::unique_ptr<Compressor> compressor;
  std::vector<std::byte> payload;
};

TensorInfo tensor() {
  return {.name = "t", .shape = {kRows, kColumns}, .elements = kRows * kColumns};
}

Encoded encode(const std::string& spec, bool needs_squares) {
  auto compressor = make_compressor(parse_spec(spec), tensor(), {});
  SplitMix64 random(1);
  std::vector<float> gradient;
  for (int i = 0; i < kRows * kColumns; ++i) {
    gradient.push_back(static_cast<float>(random.below(1000)) - 500);
  }
  std::vector<float> squares;
  if (needs_squares) {
    for (float value : gradient) squares.push_back(value * value / 1e6F);
  }
  std::vector<std::byte> payload(compressor->max_encoded_size());
  const auto report = compressor->encode({.values = gradient, .squares = squares}, payload);
  payload.resize(report.encoded_bytes);
  return {std::move(compressor), payload};
}

void write_decode_seed(const fs::path& corpus, const std::string& spec, bool needs_squares) {
  write(corpus / "decode", file_name(spec),
        subject(spec, kRows, kColumns) + text_of(encode(spec, needs_squares).payload));
}

/// A payload, a state, and most of the other calls. Some of them are refused by some compressors.
void write_c_interface_seeds(const fs::path& corpus, const std::string& spec) {
  const Encoded encoded = encode(spec, false);
  std::vector<std::byte> state;
  encoded.compressor->save_state(state);
  const std::vector<float> gradient(kRows * kColumns, 2.5F);
  const Bytes change = packed(std::uint16_t{100}, std::uint8_t{0x40});
  const Bytes next_round = packed(Call::kNextRound) + message_of("");
  const Bytes small = subject(spec, kRows, kColumns);
  const Bytes large = subject(spec, 40, 40);  // PowerSGD's rounds need a low rank
  const auto write_seed = [&](const std::string& name, const Bytes& input) {
    write(corpus / "c_interface", file_name(spec) + "-" + name, input);
  };
  write_seed("payload", small + packed(Call::kDecode) + message_of(text_of(encoded.payload)) +
                            packed(Call::kEncode, Call::kDecodeChanged) + change);
  write_seed("state", small + packed(Call::kLoad) + message_of(text_of(state)) +
                          packed(Call::kEncode, Call::kSave, Call::kLoadChanged) + change +
                          packed(Call::kEncode));
  write_seed("calls", large + packed(Call::kSetGradient) +
                          message_of(text_of(std::as_bytes(std::span(gradient)))) +
                          packed(Call::kPrepare, std::uint8_t{200}, Call::kEncode,
                                 Call::kDistortion, Call::kFirstRound) +
                          next_round + next_round +
                          packed(Call::kOwnPayload, Call::kHold, Call::kReset, Call::kOpen) +
                          message_of("topk:ratio=0.5") +
                          packed(Call::kEncode, Call::kDecodePairs, std::uint16_t{0},
                                 std::uint8_t{0}, Call::kGiveBack, std::uint8_t{0}));
}

void write_state_seed(const fs::path& corpus, const std::string& spec, bool needs_squares) {
  std::vector<std::byte> state;
  encode(spec, needs_squares).compressor->save_state(state);
  const Bytes repaired = packed(std::uint8_t{0});  // the checksum is put right
  write(corpus / "states", file_name(spec),
        subject(spec, kRows, kColumns) + repaired +
            text_of(write_states({.seed = 1, .next_step = 1, .states = {state}})));
}

void write_frame_seeds(const fs::path& corpus) {
  std::vector<std::byte> file;
  for (std::uint32_t index = 0; const std::string spec : {"topk:ratio=0.3", "sbc", "none"}) {
    const Encoded encoded = encode(spec, false);
    append_frame({.spec = spec,
                  .tensor = tensor(),
                  .index = index++,
                  .count = 3,
                  .held = spec == "sbc",
                  .checksum = spec != "none",
                  .payload = encoded.payload},
                 file);
  }
  for (std::uint8_t first : {0, 1}) {  // the checksums are put right; are left as they are
    write(corpus / "frames", first == 0 ? "three" : "three-as-they-are",
          packed(first) + text_of(file));
  }
}

void write_round_trip_seed(const fs::path& corpus, const std::string& spec) {
  const Bytes second_target = packed(std::uint8_t{1});
  const Bytes values = packed(1.0F, -0.0F, std::numeric_limits<float>::denorm_min(),
                              std::numeric_limits<float>::max(), -2.0F);
  write(corpus / "round_trip", file_name(spec), subject(spec, 5, 9) + second_target + values);
}

void write_position_seeds(const fs::path& corpus) {
  for (std::uint32_t elements : {100U, 70000U, 0xffffffffU}) {
    Bytes bytes = Bytes("\0\x07", 2) + packed(elements);  // gaps; blocks of changing sizes
    for (int gap : {0, 3, 0, 9, 20, 0, 0, 1}) bytes.push_back(static_cast<char>(gap));
    write(corpus / "positions", "gaps-of-" + std::to_string(elements),
          bytes + '\xff' + packed(std::uint32_t{66000}));
  }
  // Enough of them in one block that the fast readers get into their stride.
  Bytes many = Bytes("\0\xff", 2) + packed(std::uint32_t{100000});
  SplitMix64 random(2);
  for (int i = 0; i < 900; ++i) many.push_back(static_cast<char>(random.below(200)));
  write(corpus / "positions", "many-gaps", many);
  const auto& names = position_codec_names();
  for (std::size_t codec = 0; codec < names.size(); ++codec) {
    const std::vector<std::uint32_t> positions = {2, 3, 7, 30, 31, 79};
    std::vector<std::byte> encoded(make_position_codec(names[codec])->max_size(6, 80));
    ByteWriter out(encoded);
    make_position_codec(names[codec])->encode(positions, 80, out);
    write(corpus / "positions", "bytes-" + names[codec],
          "\x01\x07" +
              packed(std::uint32_t{80}, static_cast<std::uint8_t>(codec), std::uint16_t{6}) +
              text_of(std::span(encoded).first(out.size())));
  }
}

void write_trace_seeds(const fs::path& corpus) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "trace",
                     {.shapes = {{3, 2}, {5}}, .ranks = 1, .steps = 1, .squares = true});
  fs::create_directories(corpus / "trace");
  fs::create_directories(corpus / "safetensors");
  const auto replace = fs::copy_options::overwrite_existing;
  fs::copy_file(temporary / "trace/trace.json", corpus / "trace/synthetic", replace);
  fs::copy_file(temporary / "trace/rank-000/step-00000000.safetensors",
                corpus / "safetensors/synthetic", replace);
}

/// Three nodes: a step, part of its backward pass, and a gradient.
ExecutionTrace execution_trace() {
  ExecutionTrace trace{.version = "0.0.4", .attributes = {{"source", std::string("seed")}}};
  trace.nodes.push_back({.id = 1, .name = std::string(kChakraStep) + "0", .duration_micros = 9});
  trace.nodes.push_back({.id = 2,
                         .name = kChakraBackward,
                         .data_deps = {1},
                         .start_micros = 1,
                         .duration_micros = 2});
  trace.nodes.push_back({.id = 3,
                         .name = kChakraReady,
                         .data_deps = {1, 2},
                         .start_micros = 2,
                         .duration_micros = 2,
                         .input_shapes = "[[2, 3]]",
                         .input_types = "['Tensor(float)']",
                         .attributes = {{"is_cpu_op", true}, {"comm_size", std::int64_t{6}}}});
  return trace;
}

/// Arrays as `trace export` writes them, Chakra traces and a pattern with a path.
void write_import_seeds(const fs::path& corpus) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "trace", {.shapes = {{3, 2}, {5}}, .ranks = 1, .steps = 1});
  const Trace trace(temporary / "trace");
  const SliceParts all = slice_parts(trace, {});
  export_trace(trace, all, ExportFormat::kNpy, temporary / "npy");
  export_trace(trace, all, ExportFormat::kNpz, temporary / "npz");
  const fs::path folder = corpus / "import";
  const auto copy = [&](const char* kind, const std::string& name, const std::string& from) {
    write(folder, name, kind + read_bytes(temporary / from));
  };
  copy("n", "npy", "npy/rank-000/step-00000000/tensor-0.npy");
  copy("z", "npz", "npz/rank-000/step-00000000.npz");
  write(folder, "chakra",
        R"(c{"schema":"1.0.1","nodes":[{"name":"ProfilerStep#0","id":1,"ts":0,"inclusive_dur":9},)"
        R"({"name":"autograd::engine::evaluate_function: X","id":2,"ts":1,"inclusive_dur":2},)"
        R"({"name":"torch::autograd::AccumulateGrad","id":3,"ts":2,"inclusive_dur":2,"inputs":[],)"
        R"json("input_shapes":[[2,3]],"input_types":["Tensor(float)"]}]})json");
  if (has_protobuf())
    write(folder, "execution-trace", "e" + execution_trace_bytes(execution_trace()));
  write(folder, "pattern",
        "p*r{rank}_gradients_iter_{step}.npy\nresnet20_r0_gradients_iter_100.npy");
}

void write_synthetic_seeds(const fs::path& corpus) {
  const std::pair<const char*, const char*> texts[] = {
      {"laplace", "elements=1k,seed=2"},
      {"gamma", "elements=999,dist=gamma,shape=0.1,scale=1e-10,zeros=0.5"},
      {"gpareto", "elements=4000,dist=gpareto,shape=2,scale=1e10"},
      {"student", "elements=33,dist=student,dof=2.5,rho_step=0.999,steps=3"},
      {"bernoulli-gaussian", "elements=1k,dist=bernoulli-gaussian,rho_worker=0.3"},
      {"normal", "elements=17,dist=normal,zeros=0.999999999999,workers=65536"},
      {"model", "model=llama-3-8b,workers=2,steps=1000000"},
      {"fit", "dist=fit,trace=somewhere/else,elements=26m"}};
  for (const auto& [name, text] : texts) write(corpus / "synthetic", name, text);
}

Bytes pair_of(std::uint32_t index, float value) { return packed(index, value); }

Bytes framed(const Bytes& content) { return packed(std::uint64_t{content.size()}) + content; }

Bytes word(std::uint32_t value) { return packed(value); }

/// An input with the rank, the number of ranks, 41 elements, k = 2, and the rank's own two
/// elements: index 3 with value 2, index 7 with value -1.
Bytes sparse_exchange(char way, char ranks_less_one, char rank) {
  Bytes bytes = {way, ranks_less_one, rank, 10, 2, 0, 2};
  bytes += Bytes("\3\0\2\3\0\377", 6);
  return bytes;
}

void write_sparse_seeds(const fs::path& corpus) {
  const Bytes low = pair_of(3, 1.5F), high = pair_of(20, -2), pairs = low + high;
  const auto three_times = [](const Bytes& call) { return call + call + call; };
  const fs::path folder = corpus / "sparse_pairs";
  write(
      folder, "lists",
      packed(std::uint8_t{3}, std::uint8_t{0}, std::uint32_t{41}, std::uint8_t{1}) + pairs + pairs);
  write(folder, "mean_count", sparse_exchange(0, 1, 0) + three_times(message_of(word(9))));
  const Bytes merges = three_times(message_of(framed(pairs)));
  write(folder, "gtopk-root", sparse_exchange(1, 1, 0) + merges);
  write(folder, "gtopk-leaf", sparse_exchange(1, 1, 1) + merges);
  // Boundaries, pairs of the own region, how many keys and keys, how many pairs and pairs. The
  // second call keeps the boundaries and the keys.
  const Bytes own = message_of(framed(low)), others = message_of(word(1)) + message_of(high);
  const Bytes keys = message_of(word(1)) + message_of(word(0x40000000));
  const Bytes whole = message_of(word(10)) + own + keys + others;
  write(folder, "oktopk", sparse_exchange(2, 1, 0) + whole + own + others + whole);
}

/// An input with two workers, one server and two units of at most 40 bytes in either direction.
/// Both units take part in each step.
Bytes push_pull(char who) { return {who, 1, 0, 1, 40, 40, 0, 40, 40, 0}; }

Bytes unit_message(std::uint32_t unit, const Bytes& payload) {
  return message_of(packed(unit, static_cast<std::uint32_t>(payload.size())) + payload);
}

void write_push_pull_seeds(const fs::path& corpus) {
  Bytes server = push_pull(0) + Bytes(1, '\0'), worker = push_pull(1);
  for (int step = 0; step < 2; ++step) {
    server += packed(std::uint8_t{3});
    for (const std::uint32_t unit : {0, 0, 1, 1}) server += unit_message(unit, "pushed");
    worker += packed(std::uint8_t{3}, std::uint16_t{7}, std::uint16_t{40});
    for (const std::uint32_t unit : {1, 0}) worker += unit_message(unit, "answered");
  }
  write(corpus / "push_pull", "server", server);
  write(corpus / "push_pull", "worker", worker);
}

void write_all(const fs::path& corpus) {
  write_sparse_seeds(corpus);
  write_push_pull_seeds(corpus);
  for (const MethodInfo& method : methods()) {
    write_decode_seed(corpus, method.name, method.needs_squares);
    write_state_seed(corpus, method.name, method.needs_squares);
    write_round_trip_seed(corpus, method.name);
    write(corpus / "spec", method.name, Parameters(method.parameters, {method.name, {}}).text());
  }
  for (const char* spec : {"topk", "3lc", "powersgd", "terngrad"})
    write_c_interface_seeds(corpus, spec);
  for (const std::string& positions : position_codec_names()) {
    const std::string spec = "topk:positions=" + positions;
    if (positions != "raw32") write_decode_seed(corpus, spec, false);
  }
  write(corpus / "spec", "alternatives", "topk|dgc:ratio=0.1|0.01,delay=2");
  write_frame_seeds(corpus);
  write_position_seeds(corpus);
  write_trace_seeds(corpus);
  write_import_seeds(corpus);
  write_synthetic_seeds(corpus);
}

}  // namespace
}  // namespace thinpipe::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  thinpipe::fuzz::write_all(argv[1]);
  return 0;
}
