// The typed view of a records file, its links' calibration and its machines' fingerprints included;
// docs/records.md is the format's contract.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/record/document.h"
#include "reports/record/fidelity.h"
#include "reports/record/metrics.h"

namespace thinpipe {

/// The version of docs/records.md that this library writes and reads.
inline constexpr int kRecordVersion = 1;

/// The file's name inside a run's output folder.
inline constexpr const char* kRecordFileName = "records.jsonl";

/// Header::kind of what each verb measures.
inline constexpr const char* kRunKind = "run";
inline constexpr const char* kBenchKind = "bench";
inline constexpr const char* kQualityKind = "quality";
inline constexpr const char* kTrainKind = "train";
inline constexpr const char* kStatsKind = "trace-stats";

/// One launch of a measurement: what was asked for, on which trace and which machine.
struct Header {
  int version = kRecordVersion;
  std::string kind = kRunKind;
  std::string created;               ///< ISO 8601, UTC
  std::vector<std::string> command;  ///< argv
  std::uint64_t seed = 0;
  int threads = 1;   ///< that one encode or decode might use
  std::string simd;  ///< instruction set of the kernels; "" in records that do not say it
  Document trace;
  Document settings;                               ///< options that change figures, no axes
  Document fingerprint;                            ///< machine and build
  Document calibration;                            ///< of the links
  Document training;                               ///< what was trained, of kTrainKind
  Document machines;                               ///< of ranks: emulated, or what they are
  Document device;                                 ///< the GPU; empty without one
  std::vector<std::string> rank_devices;           ///< PCI addresses, by worker
  std::optional<bool> mpi_takes_device_addresses;  ///< with GPUs
};

/// Compressors are held against the step as it is without them.
enum class Baseline {
  kFp32,  ///< `none`: gradients as they are
  kBf16,  ///< `bf16`, summed in 16 bits: what is run in practice
};

/// Where a point of a run lies in the sweep.
struct Axes {
  std::string compressor;           ///< the whole spec, `topk:memory=residual,ratio=0.01`
  std::string method;               ///< the spec's name, `topk`
  std::string link;                 ///< the whole link spec, `rate=100mbit,delay=10ms`
  std::string topology = "star";    ///< the network, `racks:racks=2`
  std::string stragglers = "none";  ///< who computes longer, `host3:compute=2`
  std::string pattern;              ///< the exchange, `allgather-ring`
  std::string feed;                 ///< how gradients went to compressors, `overlap=bucket`; or ""
  std::string device = "cpu";       ///< where compressors ran
  double rate = 0;                  ///< bit/s, > 0
  double delay = 0;                 ///< s, one way
  int ranks = 1;
  int repeat = 0;
  std::uint64_t seed = 0;  ///< of a training; 0 of other points
  double time_scale = 1;   ///< the machine ran so many times slower; times are of the emulated one

  /// Pattern, feed and device: what tells apart points of one compressor, link and number of ranks.
  std::string way() const {
    return pattern + (feed.empty() ? "" : ", " + feed) + (device == "cpu" ? "" : ", " + device);
  }
  /// Nothing for compressors; nor for local steps, which send less than others, nor for 16 bits
  /// that are gathered instead of summed.
  std::optional<Baseline> baseline() const;
};

/// The subject of a point of `bench`.
struct BenchSubject {
  std::string tensor;     ///< a distribution's name or a captured tensor's
  std::string simd;       ///< instruction set of the kernels; a GPU's architecture
  std::string residency;  ///< where inputs lay: `memory` or `cache`
  std::string device;     ///< where compressors ran: `cpu` or `cuda`
  double elements = 0;
  int threads = 1;
  std::optional<double> ratio;  ///< k/d that was asked for; nothing for methods that are not asked
};

/// The subject of a point of `quality`.
struct QualitySubject {
  std::string tensor;   ///< "*" is all of them together
  double elements = 0;  ///< of one step of one rank
};

/// Which of a trace's gradients each sample is of.
struct SamplePlaces {
  std::vector<double> step, rank;
};

enum class Status { kOk, kInvalid, kFailed };

/// `ok`, `invalid` or `failed`, as records write it.
const char* status_name(Status status);

/// A phase of a rank's step: `compute`, `compress`, `exchange` or `decode`; s since the step began.
struct PhaseOfStep {
  std::string phase;
  std::int64_t bucket = 0;
  double begin = 0, end = 0;
};
using RankTimeline = std::vector<PhaseOfStep>;

/// One compressor on one link with so many ranks, one repeat; or what another verb calls a point.
struct Point {
  std::string id;
  Axes axes;  ///< of a run; of what other verbs measure, compressor and method alone
  std::optional<BenchSubject> bench;      ///< of kBenchKind
  std::optional<QualitySubject> quality;  ///< of kQualityKind
  Status status = Status::kOk;
  std::vector<std::string> reasons;  ///< why it is invalid or failed
  std::string started;               ///< ISO 8601, UTC; may be empty
  Metrics metrics;
  std::optional<Fidelity> fidelity;
  Document validation;
  Document prediction;                 ///< of the cost models; may be empty
  std::vector<RankTimeline> timeline;  ///< by rank, of one step; empty where there is none
  std::uint64_t timeline_step = 0;     ///< which of the measured ones that is
  Document critical_path;
  Document training;               ///< the curves of a training
  std::optional<SamplePlaces> at;  ///< of kQualityKind
  /// Members of the record that are written for other programs: `per_rank`, `servers`, `raw`,
  /// `schedule`, `trunks`, `order`. Not read.
  Document details;

  /// The metric's finite samples; none when the metric is absent.
  std::vector<double> samples(const MetricType& metric) const;
};

/// Everything one records file says.
struct Records {
  std::filesystem::path file;
  std::vector<Header> headers;     ///< one a launch, in file order
  std::vector<Point> points;       ///< one an id: the later record counts
  std::vector<std::string> notes;  ///< what the reader left out, for a person to read

  /// The headers' one kind; kRunKind without any.
  const std::string& kind() const;
  /// The ids that a resumed run skips: those whose status is `ok` or `invalid`.
  std::set<std::string> finished_ids() const;
};

/// The JSON of a record as docs/records.md lays it down. A metric with samples that are not finite,
/// which JSON writes as null, says in `missing` how many they are.
nlohmann::json metric_json(const Metric& metric);
nlohmann::json metrics_json(const Metrics& metrics);
nlohmann::json header_json(const Header& header);
nlohmann::json point_json(const Point& point);

/// One way of a calibrated link, before ranks used it.
struct CalibratedWay {
  std::string where;  ///< "rack0-spine up"
  std::string set;    ///< what that link was set to; "" when nobody did
  double ceiling = 0, goodput = 0, ratio = 0;
  std::optional<double> round_trip;  ///< s
};

/// A distinct link of a launch.
struct CalibratedLinkRecord {
  std::size_t launch = 0;  ///< index into Records::headers
  std::string link;
  std::string verdict;  ///< `holds`, `off`, `unjudged`, `unmeasured`, `broken`
  std::string reason;   ///< of the last two
  std::vector<CalibratedWay> ways;

  bool held() const { return verdict == "holds"; }
  /// The way farthest off its ceiling; null without any.
  const CalibratedWay* farthest() const;
};

/// The links of all launches, in file order. Links not as docs/records.md has them are left out:
/// calibration is optional, and the points hold its decision.
std::vector<CalibratedLinkRecord> calibrated_links(const Records& records);

/// Differences of two fingerprints' machines, each as "cpu: 'A' against 'B'": processor,
/// cores, hyper-threading, turbo, governor, caches, memory, limits, kernel, its timer's rate and
/// GPUs. Load and free memory change by the minute, and what was built is what is measured: these
/// are not looked at. A field that only one of them has (an older record) is none. Empty: the same.
std::vector<std::string> machine_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

/// The same of the whole that was measured with: also compiler, flags, thinpipe's version and
/// revision, MPI, its transports, congestion control, sysctls, qdiscs and environment.
std::vector<std::string> setting_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

}  // namespace thinpipe
