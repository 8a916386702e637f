// Names, limits and checks that the reader and the writer of traces share; docs/trace-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "workloads/trace/gradient_values.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

inline constexpr const char* kTraceFile = "trace.json";
inline constexpr const char* kTraceFormat = "thinpipe-trace";
inline constexpr std::uint64_t kTraceVersion = 1;
/// Before a tensor's name: the entry with its second moments.
inline const std::string kSquaresPrefix = "q:";
/// 256 MiB: a thousand ranks, a hundred steps and a thousand tensors come to about this.
inline constexpr std::size_t kMaxTraceFileBytes = std::size_t{256} << 20;
/// s of a forward or a backward pass: eleven days, and no pass takes a day. A longer one is in
/// another unit, or damaged, and a replay would wait for it.
inline constexpr double kMaxPassSeconds = 1e6;

/// Where a trace's gradients come from.
inline constexpr const char* kOriginTraining = "training";    ///< a training run of this program
inline constexpr const char* kOriginSynthetic = "synthetic";  ///< drawn from a distribution
inline constexpr const char* kOriginImported = "imported";    ///< recorded by another program

/// The terms of the second moments' sum.
inline constexpr const char* kSquaresOfSamples = "samples";
inline constexpr const char* kSquaresOfMicroBatches = "micro-batches";

/// Checks `format`, `version` and `origin`.
void check_trace_preamble(const JsonField& root);

/// `dtype`; F32 where there is none.
GradientType parse_gradient_dtype(const JsonField& root);
/// `squares_of`: one of the two above; samples where there is none.
std::string parse_squares_of(const JsonField& root);
/// `missing`: why a trace is not complete; empty where there is none.
std::vector<std::string> parse_missing(const JsonField& root);

/// A tensor's name is 1 to 512 bytes of printable UTF-8, not "__metadata__" (safetensors keeps
/// it) and does not begin with "q:" (ours).
void check_tensor_name(const std::string& name, const JsonField& field);

/// An array of trace.json with one element a line, so that a diff or a human finds the step it
/// looks for.
std::string json_lines(const nlohmann::json& array);

bool is_known_origin(const std::string& origin);

}  // namespace thinpipe
