#include "harness/files/decompress_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "compressors/registry.h"
#include "compressors/wire/frame.h"
#include "harness/files/tensor_file.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

struct PlacedFrame {
  Frame frame;
  std::string place;
};

/// All frames, before anything is decoded.
std::vector<PlacedFrame> read_frames(std::span<const std::byte> file,
                                     const DecompressOptions& options) {
  std::vector<PlacedFrame> frames;
  std::set<std::string> names;
  FrameReader reader(file);
  std::uint64_t elements = 0;
  while (!reader.done()) {
    Frame frame = reader.next();
    elements += frame.tensor.elements;
    if (elements > options.max_elements) {
      throw PayloadError(
          fmt::format("{}: found {} elements so far, expected at most {} (--max-elements)",
                      reader.place(), elements, options.max_elements));
    }
    if (frame.tensor.name == "__metadata__" || !names.insert(frame.tensor.name).second) {
      throw PayloadError(reader.place() + ": the name is reserved or stands twice in the file");
    }
    frames.push_back({std::move(frame), reader.place()});
  }
  reader.expect_end();
  return frames;
}

/// Does it; an InputError then begins with `place`.
template <class Action>
auto naming(const std::string& place, const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
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
  const auto begin = std::chrono::steady_clock::now();
  if (!frame.held) compressor->decode_add(frame.payload, 1.0F, values);
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  done.nonzero =
      values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
  return done;
}

}  // namespace

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
