// From one line's JSON to a header or a point.
#include "reports/record/parse.h"

#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "reports/record/fields.h"

namespace thinpipe {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kMostThreads = 1 << 20;

Header parse_header(const Fields& fields, const std::string& where) {
  Header header;
  const std::int64_t version = fields.integer("version", 0, std::numeric_limits<int>::max());
  if (version != kRecordVersion) {
    throw InputError(where + ": field 'version': this thinpipe reads version " +
                     std::to_string(kRecordVersion) + ", found " + std::to_string(version));
  }
  header.version = static_cast<int>(version);
  header.kind = fields.text("kind");
  header.created = fields.text("created");
  header.command = fields.texts("command");
  header.seed = fields.natural("seed");
  if (fields.has("threads")) {
    header.threads = static_cast<int>(fields.integer("threads", 1, kMostThreads));
  }
  header.simd = fields.text_or("simd", "");
  // A run replays a trace; other kinds of measurement need not.
  header.trace = header.kind == kRunKind || header.kind == kTrainKind
                     ? fields.object("trace").json()
                     : fields.object_or_empty("trace");
  header.settings = fields.object_or_empty("settings");
  header.fingerprint = fields.object("fingerprint").json();
  header.calibration = fields.object_or_empty("calibration");
  header.training = fields.object_or_empty("training");
  return header;
}

bool is_direction(const std::string& better) {
  if (better == "lower" || better == "higher") return true;
  constexpr std::string_view kPrefix = "target:";
  return better.starts_with(kPrefix) &&
         parse_number<double>(std::string_view(better).substr(kPrefix.size()));
}

Metric parse_metric(const Fields& fields) {
  Metric metric;
  metric.unit = fields.text("unit");
  metric.better = fields.text("better");
  if (!is_direction(metric.better)) {
    fields.complain("better", "'lower', 'higher' or 'target:<number>'");
  }
  metric.kind = fields.one_of("kind", {"timed", "exact", "quality"});
  metric.samples = fields.numbers_or_nulls("samples");
  return metric;
}

Axes parse_axes(const Fields& fields) {
  Axes axes;
  axes.compressor = fields.text("compressor");
  axes.method = fields.text("method");
  axes.link = fields.text("link");
  axes.topology = fields.text_or("topology", axes.topology);
  axes.stragglers = fields.text_or("stragglers", axes.stragglers);
  axes.pattern = fields.text("pattern");
  axes.feed = fields.text_or("feed", axes.feed);
  axes.device = fields.text_or("device", axes.device);
  axes.rate = fields.positive_number("rate");
  axes.delay = fields.number_at_least("delay", 0);
  axes.ranks = static_cast<int>(fields.integer("ranks", 1, kMostRanks));
  axes.repeat = static_cast<int>(fields.integer("repeat", 0, std::numeric_limits<int>::max()));
  if (fields.has("seed")) axes.seed = fields.natural("seed");
  if (fields.has("time_scale")) axes.time_scale = fields.positive_number("time_scale");
  return axes;
}

BenchSubject parse_bench(const Fields& fields) {
  BenchSubject subject;
  subject.tensor = fields.text_or("tensor", "");
  subject.simd = fields.text_or("simd", "");
  subject.residency = fields.text_or("residency", "");
  subject.device = fields.text_or("device", "cpu");
  if (fields.has("elements")) subject.elements = fields.number_at_least("elements", 0);
  if (fields.has("threads"))
    subject.threads = static_cast<int>(fields.integer("threads", 1, kMostThreads));
  if (fields.has("ratio") && !fields.json().at("ratio").is_null())
    subject.ratio = fields.positive_number("ratio");
  return subject;
}

PhaseOfStep parse_phase(const Fields& fields, const nlohmann::json& span) {
  const bool is_span = span.is_array() && span.size() == 4 && span[0].is_string() &&
                       span[1].is_number_integer() && span[2].is_number() && span[3].is_number();
  if (!is_span || span[3].get<double>() < span[2].get<double>())
    fields.complain("ranks", "an array of [phase, bucket, begin, end] for each rank");
  return {span[0], span[1], span[2], span[3]};
}

std::vector<RankTimeline> parse_timeline(const Fields& fields) {
  const nlohmann::json& ranks = fields.json().at("ranks");
  std::vector<RankTimeline> timeline;
  for (const nlohmann::json& rank : ranks) {
    RankTimeline& own = timeline.emplace_back();
    for (const nlohmann::json& span : rank) own.push_back(parse_phase(fields, span));
  }
  return timeline;
}

Point parse_point(const Fields& fields, const std::string& kind) {
  Point point;
  point.id = fields.text("id");
  if (point.id.empty()) fields.complain("id", "a string that is not empty");
  const Fields axes = fields.object("axes");
  if (kind == kRunKind || kind == kTrainKind) {
    point.axes = parse_axes(axes);
  } else {
    point.axes.compressor = axes.text_or("compressor", "");
    point.axes.method = axes.text_or("method", "");
    if (kind == kBenchKind) point.bench = parse_bench(axes);
  }
  const std::string status = fields.one_of("status", {"ok", "invalid", "failed"});
  point.status = status == "ok"        ? Status::kOk
                 : status == "invalid" ? Status::kInvalid
                                       : Status::kFailed;
  point.reasons = fields.texts("reasons");
  point.started = fields.text_or("started", "");
  // A failed point may have measured nothing.
  if (point.status != Status::kFailed || fields.has("metrics")) {
    const Fields metrics = fields.object("metrics");
    for (const auto& [name, metric] : metrics.json().items()) {
      (void)metric;
      point.metrics[name] = parse_metric(metrics.object(name));
    }
  }
  point.fidelity = fields.object_or_empty("fidelity");
  point.validation = fields.object_or_empty("validation");
  point.prediction = fields.object_or_empty("prediction");
  if (fields.has("timeline")) {
    const Fields timeline = fields.object("timeline");
    if (!timeline.has("ranks") || !timeline.json().at("ranks").is_array())
      timeline.complain("ranks", "an array of [phase, bucket, begin, end] for each rank");
    point.timeline = parse_timeline(timeline);
  }
  point.critical_path = fields.object_or_empty("critical_path");
  point.training = fields.object_or_empty("training");
  point.at = fields.object_or_empty("at");
  return point;
}

}  // namespace

std::variant<Header, Point> parse_record(const nlohmann::json& record, const std::string& where,
                                         const std::string& kind) {
  const Fields fields(record, where);
  if (fields.one_of("record", {"header", "point"}) == "header") return parse_header(fields, where);
  return parse_point(fields, kind);
}

}  // namespace thinpipe
