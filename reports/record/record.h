// The typed view of a records file, including calibration and fingerprints. docs/records.md
// specifies the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/record/metrics.h"

namespace thinpipe {

/// The format version of docs/records.md that this library writes and reads.
inline constexpr int kRecordVersion = 1;

/// The name of the records file in a run's output folder.
inline constexpr const char* kRecordFileName = "records.jsonl";

/// Values of Header::kind, one for each command that writes records.
inline constexpr const char* kRunKind = "run";
inline constexpr const char* kBenchKind = "bench";
inline constexpr const char* kQualityKind = "quality";
inline constexpr const char* kTrainKind = "train";
inline constexpr const char* kStatsKind = "trace-stats";
inline constexpr const char* kJobKind = "job";  ///< of `net torchrun` and `net mpirun`

/// Returns a member that is a string; "" when it is absent or of another type, and for a value that
/// is no object.
std::string text_in(const nlohmann::json& object, const std::string& name);
/// Returns a member that is a finite number; nullopt when it is absent or of another type, and for
/// a value that is no object.
std::optional<double> number_in(const nlohmann::json& object, const std::string& name);

/// A JSON object of a record. It is immutable and shared by all copies of the Document, which
/// converts to a JSON value for reading. Code that uses more than number() and text() must include
/// nlohmann/json.hpp.
class Document {
 public:
  Document();  ///< an empty object
  explicit Document(nlohmann::json object);

  operator const nlohmann::json&() const { return *json_; }  // NOLINT(google-explicit-constructor)
  const nlohmann::json& operator*() const { return *json_; }
  const nlohmann::json* operator->() const { return json_.get(); }
  bool empty() const;
  std::optional<double> number(const std::string& name) const { return number_in(*json_, name); }
  std::string text(const std::string& name) const { return text_in(*json_, name); }

 private:
  std::shared_ptr<const nlohmann::json> json_;
};

/// One launch, which is one execution of a measuring command: its arguments, trace and machine.
struct Header {
  int version = kRecordVersion;
  std::string kind = kRunKind;
  std::string created;               ///< ISO 8601, UTC
  std::vector<std::string> command;  ///< argv
  std::uint64_t seed = 0;
  int threads = 1;   ///< available to one encode or decode
  std::string simd;  ///< instruction set of the kernels; "" in records without it
  Document trace;
  Document settings;                               ///< options (no axes) that change figures
  Document fingerprint;                            ///< machine and build
  Document calibration;                            ///< of the links
  Document training;                               ///< model, data and target, of kTrainKind
  Document machines;                               ///< the ranks' hosts, emulated or real
  Document device;                                 ///< the GPU; empty without one
  std::vector<std::string> rank_devices;           ///< PCI address of each worker's GPU
  std::optional<bool> mpi_takes_device_addresses;  ///< with GPUs: whether MPI took device pointers
};

/// The step without a compressor, which compressors are compared with.
enum class Baseline {
  kFp32,  ///< `none`: gradients in 32 bits
  kBf16,  ///< `bf16`: gradients summed in 16 bits, the common practice
};

/// Values of Axes::engine.
inline constexpr const char* kEmulationEngine = "emulation";  ///< the kernel, on throttled links
inline constexpr const char* kSimGridEngine = "simgrid";      ///< SimGrid, in simulated time
inline constexpr const char* kNetworkEngine = "network";      ///< a real network, not throttled
inline constexpr const char* kMachinesEngine = "machines";    ///< real machines' links, throttled

/// The settings that distinguish the points of a run, a training or a job.
struct Axes {
  std::string compressor;                 ///< the whole spec, `topk:memory=residual,ratio=0.01`
  std::string method;                     ///< the spec's name, `topk`
  std::string link;                       ///< the whole link spec, `rate=100mbit,delay=10ms`
  std::string topology = "star";          ///< the network, `racks:racks=2`
  std::string stragglers = "none";        ///< hosts that compute longer, `host3:compute=2`
  std::string collective;                 ///< `allgather-ring`
  std::string bucketing;                  ///< how gradients are bucketed, `overlap=bucket`; or ""
  std::string device = "cpu";             ///< where compressors ran
  std::string engine = kEmulationEngine;  ///< who carried the payloads
  double rate = 0;                        ///< bit/s, > 0
  double delay = 0;                       ///< s, one way
  int ranks = 1;
  int repeat = 0;
  std::uint64_t seed = 0;  ///< of a training; 0 of other points
  double time_scale = 1;   ///< factor of the time dilation; times are those of the emulated links

  /// Returns collective, bucketing and device, which distinguish points of one compressor, link and
  /// number of ranks.
  std::string way() const {
    return collective + (bucketing.empty() ? "" : ", " + bucketing) +
           (device == "cpu" ? "" : ", " + device);
  }
  /// Returns true if a method of their own compresses the answers of parameter servers (`pull=`) or
  /// the means of a two-shot collective (`second=`).
  bool answers_compressed() const;
  /// Returns the baseline that these axes measure; nullopt if they measure none. Local steps,
  /// answers_compressed() and the 4-bit sums of qgZ are no baselines, because they send less. Nor
  /// are 16-bit gradients that are all-gathered instead of summed.
  std::optional<Baseline> baseline() const;
};

/// The subject of a point of `bench`.
struct BenchSubject {
  std::string tensor;     ///< a distribution's name or a captured tensor's
  std::string simd;       ///< instruction set of the kernels; a GPU's architecture
  std::string residency;  ///< of the inputs: `memory` or `cache`
  std::string device;     ///< where compressors ran: `cpu` or `cuda`
  double elements = 0;
  int threads = 1;
  std::optional<double> ratio;  ///< requested k/d; nullopt for methods without a ratio
};

/// The subject of a point of `quality`.
struct QualitySubject {
  std::string tensor;   ///< "*" is all tensors together
  double elements = 0;  ///< of one step of one rank
};

/// For each sample of a metric: the step and rank of the trace that the sample comes from.
struct SamplePlaces {
  std::vector<double> step, rank;
};

enum class Status { kOk, kInvalid, kFailed };

/// Returns `ok`, `invalid` or `failed`, as in records.
const char* status_name(Status status);

/// A phase of a rank's step: `compute`, `compress`, `exchange` or `decode`; in s since the step
/// began.
struct PhaseOfStep {
  std::string phase;
  std::int64_t bucket = 0;
  double begin = 0, end = 0;
};
using RankTimeline = std::vector<PhaseOfStep>;

/// The checks of a point's links and host: the `fidelity` of docs/records.md. An unknown figure is
/// nullopt.
struct Fidelity {
  std::optional<double> goodput_ratio = {};         ///< goodput / TCP ceiling, in the calibration
  std::optional<double> wire_bytes_predicted = {};  ///< B a host sends in a step if frames are full
  std::optional<double> wire_bytes_most = {};       ///< same, if every message has its own frames
  std::optional<double> wire_ratio = {};            ///< measured / predicted bytes
  std::optional<double> idle_cpu = {};              ///< idle fraction of the CPU time
  std::optional<double> burst_bytes = {};           ///< B, the depth of the largest token bucket
  std::optional<double> burst_seconds = {};         ///< s that burst_bytes take at the link's rate
  std::uint64_t drops = 0;                          ///< frames
  bool shared_machine = false;  ///< another run measured on this machine at the same time
  /// By rank; empty where not counted.
  std::vector<double> wire_bytes_by_rank = {};
  std::vector<double> tcp_segments_by_rank = {};
  std::vector<double> tcp_retransmitted_by_rank = {};
};

/// Reads the `fidelity` of a record. A figure that is missing or not a finite number is nullopt.
Fidelity parse_fidelity(const nlohmann::json& object);

/// One measured point. In a run, a point is one repeat of one compressor on one link with one
/// number of ranks. Other commands, such as `bench`, have points with other axes.
struct Point {
  std::string id;
  /// The id with specs in their normal form, so that it is equal for `topk` and `topk:ratio=0.01`;
  /// "" where it is unknown, as in older records.
  std::string normal_id;
  Axes axes;  ///< of a run, training or job; of other kinds, compressor and method alone
  std::optional<BenchSubject> bench;      ///< of kBenchKind
  std::optional<QualitySubject> quality;  ///< of kQualityKind
  Status status = Status::kOk;
  std::vector<std::string> reasons;  ///< why the point is invalid or failed
  bool diverged = false;             ///< failed because a training's loss or gradient overflowed
  std::string started;               ///< ISO 8601, UTC; may be empty
  Metrics metrics;
  std::optional<Fidelity> fidelity;
  Document validation;
  Document prediction;                 ///< of the cost models; may be empty
  std::vector<RankTimeline> timeline;  ///< by rank, of one step; may be empty
  std::uint64_t timeline_step = 0;     ///< index of that step among the measured ones
  Document critical_path;
  Document training;               ///< the curves of a training
  std::optional<SamplePlaces> at;  ///< of kQualityKind
  /// Members of the record for other programs, written but not read: `per_rank`, `servers`, `raw`,
  /// `schedule`, `trunks`, `order`, `hosts`.
  Document details;

  /// Returns the metric's finite samples; empty when the metric is absent.
  std::vector<double> samples(const MetricType& metric) const;
};

/// The contents of one records file.
struct Records {
  std::filesystem::path file;
  std::vector<Header> headers;     ///< one per launch, in file order
  std::vector<Point> points;       ///< the last one of each id; see read_repeated_records()
  std::vector<std::string> notes;  ///< a sentence for each skipped line

  /// Returns the kind of all headers; kRunKind without any.
  const std::string& kind() const;
  /// Returns the ids, and the normal ids, that a resumed run skips: those of points with status
  /// `ok` or `invalid`, and of trainings that diverged, because they would diverge again.
  std::set<std::string> finished_ids() const;
};

/// Names points of several records, so that records of the same point have the same name: those
/// with one id, or with one normal id.
class PointNames {
 public:
  /// Returns the id of the first point with this id or normal id, which may be the point itself.
  /// @param normal_id  Point::normal_id; "" where it is unknown
  const std::string& of(const std::string& id, const std::string& normal_id);

 private:
  std::map<std::string, std::string> names_;  // by id and by normal id
};

/// Return the JSON form of a record or of a member of one (docs/records.md). JSON has no infinity
/// and no NaN, so samples that are not finite become null. The member `missing` of a metric states
/// how many samples are null.
nlohmann::json metric_json(const Metric& metric);
nlohmann::json metrics_json(const Metrics& metrics);
nlohmann::json fidelity_json(const Fidelity& fidelity);
nlohmann::json header_json(const Header& header);
nlohmann::json point_json(const Point& point);

/// One direction of a calibrated link.
struct CalibratedWay {
  std::string where;  ///< "rack0-spine up"
  std::string set;    ///< the link's settings; "" where thinpipe made none
  /// TCP ceiling and goodput in bit/s of payload; goodput / ceiling.
  double ceiling = 0, goodput = 0, ratio = 0;
  std::optional<double> round_trip;  ///< s
};

/// A distinct link of a launch.
struct CalibratedLinkRecord {
  std::size_t launch = 0;  ///< index into Records::headers
  std::string link;
  double machines = 0;  ///< number of machines in the network; 0 in records that lack it
  std::string verdict;  ///< `holds`, `off`, `unjudged`, `unmeasured`, `broken`
  std::string reason;   ///< why it is `unmeasured` or `broken`
  std::vector<CalibratedWay> ways = {};

  bool held() const { return verdict == "holds"; }
  /// Returns the direction with the ratio farthest from 1; null without any.
  const CalibratedWay* farthest() const;
};

/// Returns the calibrated links of all launches' headers, in file order. Ignores an entry that does
/// not have the form in docs/records.md. This is safe, because calibration is optional, and each
/// measured point says itself whether its link passed calibration.
std::vector<CalibratedLinkRecord> calibrated_links(const Records& records);

/// Adds `name: A against B`, with the values as JSON, if they differ.
void add_difference(const std::string& name, const nlohmann::json& one, const nlohmann::json& other,
                    std::vector<std::string>& differences);

/// Returns the differences between the machines of two fingerprints, each as `cpu: "A" against
/// "B"`. Compares CPU, cores, hyper-threading, turbo, governor, caches, memory, limits, kernel, the
/// kernel's timer rate and GPUs. Ignores load and free memory, which change by the minute, and the
/// build, which is the subject of a comparison. Also ignores a field that only one side has, as
/// with an older record. Empty if both machines are the same.
std::vector<std::string> machine_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

/// Returns all differences between two fingerprints: those of machine_differences(), and those of
/// compiler, flags, thinpipe's version and revision, MPI, its transports, congestion control,
/// sysctls, qdiscs and environment.
std::vector<std::string> setting_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

}  // namespace thinpipe
