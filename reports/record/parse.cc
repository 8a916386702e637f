// From one line's JSON to a header or a point.
#include "reports/record/parse.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

// Messages quote the found value, but no more of it than this.
constexpr std::size_t kLongestQuote = 60;

std::string quote(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote) + "...";
  return text;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "'" : ", '") + word + "'";
  return text;
}

constexpr int kMaxRanks = 1 << 20;
constexpr int kMaxThreads = 1 << 20;

Header parse_header(const Fields& fields, const std::string& where) {
  Header header;
  const std::int64_t version = fields.integer("version", 0, std::numeric_limits<int>::max());
  if (version != kRecordVersion)
    throw InputError(where + ": field 'version': this thinpipe reads version " +
                     std::to_string(kRecordVersion) + ", found " + std::to_string(version));
  header.version = static_cast<int>(version);
  header.kind = fields.text("kind");
  header.created = fields.text("created");
  header.command = fields.texts("command");
  header.seed = fields.natural("seed");
  if (fields.has("threads"))
    header.threads = static_cast<int>(fields.integer("threads", 1, kMaxThreads));
  header.simd = fields.text_or("simd", "");
  // Runs and trainings have a trace; other kinds may have none.
  const bool replays = header.kind == kRunKind || header.kind == kTrainKind;
  header.trace = replays ? Document(fields.object("trace").json()) : fields.document("trace");
  header.settings = fields.document("settings");
  header.fingerprint = Document(fields.object("fingerprint").json());
  header.calibration = fields.document("calibration");
  header.training = fields.document("training");
  header.machines = fields.document("machines");
  header.device = fields.document("device");
  if (fields.has("rank_devices")) header.rank_devices = fields.texts("rank_devices");
  if (const auto takes = fields.json().find("mpi_takes_device_addresses");
      takes != fields.json().end() && takes->is_boolean())
    header.mpi_takes_device_addresses = takes->get<bool>();
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
  if (!is_direction(metric.better))
    fields.complain("better", "'lower', 'higher' or 'target:<number>'");
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
  // `pattern` and `feed` are the names before version 0.2 of thinpipe.
  axes.collective = fields.text(fields.has("pattern") ? "pattern" : "collective");
  axes.bucketing = fields.text_or(fields.has("feed") ? "feed" : "bucketing", axes.bucketing);
  axes.device = fields.text_or("device", axes.device);
  axes.engine = fields.text_or("engine", axes.engine);
  axes.rate = fields.positive_number("rate");
  axes.delay = fields.number_at_least("delay", 0);
  axes.ranks = static_cast<int>(fields.integer("ranks", 1, kMaxRanks));
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
    subject.threads = static_cast<int>(fields.integer("threads", 1, kMaxThreads));
  if (fields.has("ratio") && !fields.json().at("ratio").is_null())
    subject.ratio = fields.positive_number("ratio");
  return subject;
}

QualitySubject parse_quality(const Fields& fields) {
  QualitySubject subject{.tensor = fields.text_or("tensor", "*")};
  if (fields.has("elements")) subject.elements = fields.number_at_least("elements", 0);
  return subject;
}

constexpr const char* kTimelineForm = "an array of [phase, bucket, begin, end] for each rank";

PhaseOfStep parse_phase(const Fields& fields, const nlohmann::json& span) {
  const bool is_span = span.is_array() && span.size() == 4 && span[0].is_string() &&
                       span[1].is_number_integer() && span[2].is_number() && span[3].is_number();
  if (!is_span || span[3].get<double>() < span[2].get<double>())
    fields.complain("ranks", kTimelineForm);
  return {span[0], span[1], span[2], span[3]};
}

std::vector<RankTimeline> parse_timeline(const Fields& fields) {
  std::vector<RankTimeline> timeline;
  for (const nlohmann::json& rank :
       fields.value("ranks", kTimelineForm, &nlohmann::json::is_array)) {
    RankTimeline& own = timeline.emplace_back();
    for (const nlohmann::json& span : rank) own.push_back(parse_phase(fields, span));
  }
  return timeline;
}

Point parse_point(const Fields& fields, const std::string& kind) {
  Point point;
  point.id = fields.text("id");
  if (point.id.empty()) fields.complain("id", "a string that is not empty");
  point.normal_id = fields.text_or("normal_id", "");
  const Fields axes = fields.object("axes");
  if (kind == kRunKind || kind == kTrainKind || kind == kJobKind) {
    point.axes = parse_axes(axes);
  } else {
    point.axes.compressor = axes.text_or("compressor", "");
    point.axes.method = axes.text_or("method", "");
    if (kind == kBenchKind) point.bench = parse_bench(axes);
    if (kind == kQualityKind) point.quality = parse_quality(axes);
  }
  const std::string status = fields.one_of("status", {"ok", "invalid", "failed"});
  point.status = status == "ok"        ? Status::kOk
                 : status == "invalid" ? Status::kInvalid
                                       : Status::kFailed;
  point.reasons = fields.texts("reasons");
  point.diverged = point.status == Status::kFailed && fields.has("diverged");
  point.started = fields.text_or("started", "");
  // A failed point may have no metrics.
  if (point.status != Status::kFailed || fields.has("metrics")) {
    const Fields metrics = fields.object("metrics");
    for (const auto& metric : metrics.json().items())
      point.metrics[metric.key()] = parse_metric(metrics.object(metric.key()));
  }
  if (fields.has("fidelity")) point.fidelity = parse_fidelity(fields.object("fidelity").json());
  point.validation = fields.document("validation");
  point.prediction = fields.document("prediction");
  if (fields.has("timeline")) {
    const Fields timeline = fields.object("timeline");
    point.timeline = parse_timeline(timeline);
    if (timeline.has("step")) point.timeline_step = timeline.natural("step");
  }
  point.critical_path = fields.document("critical_path");
  point.training = fields.document("training");
  if (kind == kQualityKind && fields.has("at")) {
    const Fields at = fields.object("at");
    point.at = {at.numbers_or_nulls("step"), at.numbers_or_nulls("rank")};
  }
  return point;
}

}  // namespace

Fields::Fields(const nlohmann::json& object, std::string where, std::string path)
    : object_(object), where_(std::move(where)), path_(std::move(path)) {
  if (object_.is_object()) return;
  const std::string subject = path_.empty() ? "" : ": field '" + path_ + "'";
  throw InputError(where_ + subject + ": expected an object, found " + quote(object_));
}

void Fields::complain(const std::string& key, std::string_view expected) const {
  const auto found = object_.find(key);
  throw InputError(where_ + ": field '" + (path_.empty() ? key : path_ + "." + key) +
                   "': expected " + std::string(expected) +
                   (found == object_.end() ? ", but it is missing" : ", found " + quote(*found)));
}

const nlohmann::json& Fields::value(
    const std::string& key, std::string_view expected,
    const std::function<bool(const nlohmann::json&)>& is_valid) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !is_valid(*found)) complain(key, expected);
  return *found;
}

std::string Fields::text(const std::string& key) const {
  return value(key, "a string", &nlohmann::json::is_string).get<std::string>();
}

std::string Fields::text_or(const std::string& key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::string Fields::one_of(const std::string& key, const std::vector<std::string>& allowed) const {
  const auto is_allowed = [&](const nlohmann::json& found) {
    return found.is_string() && std::find(allowed.begin(), allowed.end(),
                                          found.get_ref<const std::string&>()) != allowed.end();
  };
  return value(key, "one of " + quoted(allowed), is_allowed).get<std::string>();
}

double Fields::number_at_least(const std::string& key, double least) const {
  const auto is_enough = [&](const nlohmann::json& found) {
    return found.is_number() && found.get<double>() >= least;
  };
  return value(key, least == 0 ? "a number of at least 0" : "a number", is_enough).get<double>();
}

double Fields::positive_number(const std::string& key) const {
  const auto is_positive = [](const nlohmann::json& found) {
    return found.is_number() && found.get<double>() > 0;
  };
  return value(key, "a positive number", is_positive).get<double>();
}

std::int64_t Fields::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
  const std::string expected =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const auto is_within = [&](const nlohmann::json& found) {
    // An unsigned number above 2^63 would become negative as a signed one.
    const bool too_large = found.is_number_unsigned() &&
                           found.get<std::uint64_t>() >
                               static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return found.is_number_integer() && !too_large && found.get<std::int64_t>() >= least &&
           found.get<std::int64_t>() <= most;
  };
  return value(key, expected, is_within).get<std::int64_t>();
}

std::uint64_t Fields::natural(const std::string& key) const {
  const auto is_natural = [](const nlohmann::json& found) {
    return found.is_number_unsigned() ||
           (found.is_number_integer() && found.get<std::int64_t>() >= 0);
  };
  return value(key, "a whole number of at least 0", is_natural).get<std::uint64_t>();
}

std::vector<std::string> Fields::texts(const std::string& key) const {
  const auto are_texts = [](const nlohmann::json& found) {
    return found.is_array() && std::all_of(found.begin(), found.end(),
                                           [](const auto& element) { return element.is_string(); });
  };
  return value(key, "an array of strings", are_texts).get<std::vector<std::string>>();
}

std::vector<double> Fields::numbers_or_nulls(const std::string& key) const {
  const auto are_numbers = [](const nlohmann::json& found) {
    return found.is_array() && std::all_of(found.begin(), found.end(), [](const auto& element) {
             return element.is_number() || element.is_null();
           });
  };
  const nlohmann::json& found = value(key, "an array of numbers", are_numbers);
  std::vector<double> result;
  result.reserve(found.size());
  for (const nlohmann::json& element : found)
    result.push_back(element.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                       : element.get<double>());
  return result;
}

Fields Fields::object(const std::string& key) const {
  return {value(key, "an object", &nlohmann::json::is_object), where_,
          path_.empty() ? key : path_ + "." + key};
}

Document Fields::document(const std::string& key) const {
  return has(key) ? Document(object(key).json()) : Document();
}

std::variant<Header, Point> parse_record(const nlohmann::json& record, const std::string& where,
                                         const std::string& kind) {
  const Fields fields(record, where);
  if (fields.one_of("record", {"header", "point"}) == "header") return parse_header(fields, where);
  return parse_point(fields, kind);
}

}  // namespace thinpipe
