#include "harness/train/capture_writer.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;

TraceDescription description_of(const SweepPoint& point, const TrainOptions& options,
                                const ModelDescription& model) {
  TraceDescription trace;
  trace.model = options.learner.model;
  trace.origin = kOriginTraining;
  trace.tensors = model.tensors;
  trace.ranks = static_cast<std::size_t>(point.ranks);
  trace.squares = options.learner.squares;
  trace.provenance = {
      {"program", "thinpipe train"},
      {"training", learner_of(point, options).to_json()},
      {"data", model.data},
      {"compressor", point.compressor.to_string()},
      {"pattern", point.pattern.to_string()},
      {"feed", point.feed.to_string()},
      {"every", options.capture_every},
      {"timing", model.measured > 0
                     ? "medians of steps that one worker computed alone, the same in every step"
                     : "given on the command line, the same in every step"}};
  return trace;
}

}  // namespace

CaptureWriter::CaptureWriter(const SweepPoint& point, const TrainOptions& options,
                             const ModelDescription& model)
    : point_(point), options_(options), model_(model) {
  if (!options.capture.empty())
    folder_ = options.capture / plain_file_name(point.id(options.sweep));
}

bool CaptureWriter::wants(std::uint64_t step) const {
  return !folder_.empty() && (step + 1) % options_.capture_every == 0;
}

const fs::path& CaptureWriter::folder() {
  if (passing_.empty()) {
    passing_ = folder_.string() + ".passing";
    std::error_code failure;
    fs::create_directories(passing_, failure);
    if (failure) throw SystemError("create folder " + passing_.string(), failure.value());
  }
  return passing_;
}

std::vector<float> CaptureWriter::read(const char* what, int rank) const {
  const fs::path file = passing_ / fmt::format("{}-{}", what, rank);
  std::vector<float> values(model_.elements());
  std::ifstream stream(file, std::ios::binary);
  const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
  if (!stream.read(reinterpret_cast<char*>(values.data()), bytes))
    throw SystemError("read " + file.string());
  return values;
}

void CaptureWriter::take(std::uint64_t step, const std::vector<double>& losses) {
  if (!writer_) writer_.emplace(folder_, description_of(point_, options_, model_));
  const auto spans = [&](const std::vector<float>& values) {
    std::vector<std::span<const float>> all;
    std::size_t at = 0;
    for (const TraceTensor& tensor : model_.tensors) {
      all.push_back(std::span(values).subspan(at, tensor.elements));
      at += tensor.elements;
    }
    return all;
  };
  for (int rank = 0; rank < point_.ranks; ++rank) {
    const std::vector<float> values = read("gradient", rank);
    std::vector<float> squares;
    std::vector<std::span<const float>> parts;
    if (options_.learner.squares) {
      squares = read("squares", rank);
      parts = spans(squares);
    }
    TraceStepTimes times = model_.times;
    times.loss = losses.at(static_cast<std::size_t>(rank));
    writer_->add(step, static_cast<std::size_t>(rank), times, spans(values), parts);
  }
}

void CaptureWriter::finish() {
  if (writer_) writer_->finish();
}

CaptureWriter::~CaptureWriter() {
  std::error_code none;
  if (!passing_.empty()) fs::remove_all(passing_, none);
}

}  // namespace thinpipe
