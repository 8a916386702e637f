// Names, limits and checks shared by the reader and the writer of traces; docs/trace-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "workloads/trace/gradient_values.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

inline constexpr const char* kTraceFile = "trace.json";
inline constexpr const char* kTraceFormat = "thinpipe-trace";
inline constexpr std::uint64_t kTraceVersion = 1;
/// Prefix of a tensor's name for the entry with its second moments.
inline const std::string kSquaresPrefix = "q:";
/// 256 MiB: a thousand ranks, a hundred steps and a thousand tensors come to about this.
inline constexpr std::size_t kMaxTraceFileBytes = std::size_t{256} << 20;
/// Maximum duration of a forward or a backward pass, in seconds: eleven days, although no pass
/// takes even a day. A longer time in a file is damaged or in another unit, and a replay would wait
/// that long.
inline constexpr double kMaxPassSeconds = 1e6;

/// Origins of a trace's gradients.
inline constexpr const char* kOriginTraining = "training";    ///< a training run of this program
inline constexpr const char* kOriginSynthetic = "synthetic";  ///< drawn from a distribution
inline constexpr const char* kOriginImported = "imported";    ///< recorded by another program

/// The terms of the second moments' sum.
inline constexpr const char* kSquaresOfSamples = "samples";
inline constexpr const char* kSquaresOfMicroBatches = "micro-batches";

/// The contents of the tensors in the files.
inline constexpr const char* kValuesGradients = "gradients";
inline constexpr const char* kValuesUpdates =
    "updates";  ///< decreases of parameters in local steps

/// Checks `format`, `version` and `origin`.
void check_trace_preamble(const JsonField& root);

/// Returns the type in `dtype`; F32 if the member is absent.
GradientType parse_gradient_dtype(const JsonField& root);
/// Returns `squares_of`, a constant above; samples if the member is absent.
std::string parse_squares_of(const JsonField& root);
/// Returns `values`, a constant above; gradients if the member is absent.
std::string parse_values(const JsonField& root);
/// Returns `missing`, the reasons why a trace is incomplete; empty if the member is absent.
std::vector<std::string> parse_missing(const JsonField& root);

/// Checks that a tensor's name is 1 to 512 bytes of printable UTF-8, is not "__metadata__"
/// (reserved by safetensors) and does not begin with "q:" (reserved for second moments).
void check_tensor_name(const std::string& name, const JsonField& field);

/// Returns the text of a trace.json: format and version, then these members. Every tensor and every
/// step has a line of its own, so that a single step is easy to find, for a reader or in a diff.
std::string trace_json(const std::vector<std::pair<const char*, nlohmann::json>>& members,
                       const nlohmann::json& tensors, const nlohmann::json& steps);

bool is_known_origin(const std::string& origin);

}  // namespace thinpipe
