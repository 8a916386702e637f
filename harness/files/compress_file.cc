#include "harness/files/compress_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/output_file.h"
#include "compressors/kernels/buffer.h"
#include "compressors/registry.h"
#include "compressors/wire/frame.h"
#include "compressors/wire/states.h"
#include "harness/files/tensor_file.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls `action`, and puts `place` before the message of its InputError.
template <class Action>
auto naming(const std::string& place, const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
}

/// The states of an earlier call, if any.
class EarlierStates {
 public:
  EarlierStates(const std::filesystem::path& path, std::size_t tensors) : path_(path) {
    if (path.empty() || !std::filesystem::exists(path)) return;
    file_.emplace(path);
    bundle_ = naming(path.string(), [&] { return read_states(file_->bytes()); });
    if (bundle_.states.size() != tensors)
      throw InputError(
          fmt::format("{}: number of states: found {}, expected {}, one for each tensor",
                      path.string(), bundle_.states.size(), tensors));
  }

  bool present() const { return file_.has_value(); }
  const StateBundle& bundle() const { return bundle_; }
  void load(std::size_t tensor, const std::string& name, Compressor& compressor) const {
    if (!present()) return;
    naming(fmt::format("{}: tensor '{}'", path_.string(), printable(name)),
           [&] { compressor.load_state(bundle_.states[tensor]); });
  }

 private:
  std::filesystem::path path_;
  std::optional<MappedFile> file_;
  StateBundle bundle_;
};

void choose_seed_and_step(const CompressOptions& options, const EarlierStates& earlier,
                          CompressOutcome& outcome) {
  outcome.resumed = earlier.present();
  outcome.seed = options.seed.value_or(earlier.bundle().seed);
  outcome.step = options.step.value_or(earlier.bundle().next_step);
  if (earlier.present() && outcome.seed != earlier.bundle().seed)
    throw InputError(fmt::format("{}: seed: found {}, expected {} (--seed)", options.state.string(),
                                 earlier.bundle().seed, outcome.seed));
}

struct PlacedFrame {
  Frame frame;
  std::string place;
};

/// Reads all frames, before anything is decoded.
std::vector<PlacedFrame> read_frames(std::span<const std::byte> file,
                                     const DecompressOptions& options) {
  std::vector<PlacedFrame> frames;
  std::set<std::string> names;
  FrameReader reader(file);
  std::uint64_t elements = 0;
  while (!reader.done()) {
    Frame frame = reader.next();
    elements += frame.tensor.elements;
    if (elements > options.max_elements)
      throw PayloadError(
          fmt::format("{}: found {} elements so far, expected at most {} (--max-elements)",
                      reader.place(), elements, options.max_elements));
    if (frame.tensor.name == "__metadata__" || !names.insert(frame.tensor.name).second)
      throw PayloadError(reader.place() + ": the name is reserved or occurs twice in the file");
    frames.push_back({std::move(frame), reader.place()});
  }
  reader.expect_end();
  return frames;
}

DecompressedTensor decode(const Frame& frame, int threads, std::vector<float>& values) {
  const Spec spec = parse_spec(frame.spec);
  const auto compressor =
      make_compressor(spec, frame.tensor, {.seed = frame.seed, .threads = threads});
  DecompressedTensor done{.info = frame.tensor,
                          .compressor = frame.spec,
                          .step = frame.step,
                          .held = frame.held,
                          .incremental = compressor->incremental(),
                          .encoded_bytes = frame.payload.size()};
  values.assign(frame.tensor.elements, 0.0F);
  const auto begin = Clock::now();
  if (!frame.held) compressor->decode_add(frame.payload, 1.0F, values);
  done.seconds = seconds_since(begin);
  done.nonzero =
      values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
  return done;
}

}  // namespace

CompressOutcome compress_file(const CompressOptions& options) {
  const MethodInfo& method = find_method(options.compressor.name);
  CompressOutcome outcome;
  outcome.compressor = parameters_of(options.compressor).text();
  const TensorFile input(options.in);
  const EarlierStates earlier(options.state, input.tensors().size());
  choose_seed_and_step(options, earlier, outcome);

  OutputFile out(options.out);
  Buffer<std::byte> payload;
  std::vector<std::byte> frame;
  std::vector<std::vector<std::byte>> states;
  for (std::size_t i = 0; i < input.tensors().size(); ++i) {
    const FileTensor& tensor = input.tensors()[i];
    const std::string where =
        fmt::format("{}: tensor '{}'", options.in.string(), printable(tensor.info.name));
    if (method.needs_squares && tensor.squares.empty() && tensor.info.elements > 0)
      throw InputError(fmt::format("{}: {} needs second moments, expected an entry 'q:{}'", where,
                                   method.name, printable(tensor.info.name)));
    std::vector<float> repaired;
    const GradientInput gradient{
        .values = finite_values(tensor.values, options.bad_values, where, repaired),
        .squares = tensor.squares,
        .step = outcome.step,
        .epoch = options.epoch};
    const auto compressor = make_compressor(options.compressor, tensor.info,
                                            {.seed = outcome.seed, .threads = options.threads});
    earlier.load(i, tensor.info.name, *compressor);
    if (compressor->period() > 1 && options.state.empty())
      throw InputError(fmt::format(
          "{} exchanges every {} steps; --state must name a file for the state between exchanges",
          options.compressor.to_string(), compressor->period()));
    outcome.held = (outcome.step + 1) % compressor->period() != 0;
    CompressedTensor done{.info = tensor.info, .report = {}, .distortion = {}, .seconds = 0};
    if (payload.size() < compressor->max_encoded_size())
      payload = Buffer<std::byte>(compressor->max_encoded_size());
    const auto begin = Clock::now();
    if (outcome.held) {
      compressor->hold(gradient);
    } else {
      done.report = compressor->encode(gradient, payload.first(payload.size()));
    }
    done.seconds = seconds_since(begin);
    const auto encoded =
        std::span<const std::byte>(payload.first(payload.size())).first(done.report.encoded_bytes);
    if (!outcome.held) done.distortion = compressor->distortion(gradient, encoded);
    if (!std::isfinite(done.distortion.error_squares + done.distortion.input_squares))
      throw RunError(fmt::format("{}: {} decodes to values that are not finite", where,
                                 options.compressor.to_string()));
    frame.clear();
    append_frame({.spec = outcome.compressor,
                  .tensor = tensor.info,
                  .seed = outcome.seed,
                  .step = outcome.step,
                  .index = static_cast<std::uint32_t>(i),
                  .count = static_cast<std::uint32_t>(input.tensors().size()),
                  .held = outcome.held,
                  .payload = encoded},
                 frame);
    out.write(frame);
    if (!options.state.empty()) compressor->save_state(states.emplace_back());
    outcome.tensors.push_back(std::move(done));
  }
  outcome.file_bytes = out.size();

  std::optional<OutputFile> state;
  if (!options.state.empty()) {
    state.emplace(options.state);
    state->write(write_states({.seed = outcome.seed,
                               .next_step = outcome.step + 1,
                               .states = {states.begin(), states.end()}}));
  }
  // The state is committed last: if that fails, the same call gives the same payloads again.
  out.commit();
  if (state) state->commit();
  return outcome;
}

DecompressOutcome decompress_file(const DecompressOptions& options) {
  const MappedFile file(options.in);
  const auto frames =
      naming(options.in.string(), [&] { return read_frames(file.bytes(), options); });
  std::vector<TensorInfo> tensors;
  for (const PlacedFrame& placed : frames) tensors.push_back(placed.frame.tensor);
  TensorFileWriter writer(options.out, tensors, {{"format", "thinpipe-decoded"}});
  DecompressOutcome outcome{.file_bytes = file.bytes().size(), .tensors = {}};
  std::vector<float> values;
  for (const PlacedFrame& placed : frames) {
    outcome.tensors.push_back(naming(options.in.string() + ": " + placed.place, [&] {
      return decode(placed.frame, options.threads, values);
    }));
    writer.add(values);
  }
  writer.commit();
  return outcome;
}

}  // namespace thinpipe
