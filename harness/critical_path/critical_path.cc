#include "harness/critical_path/critical_path.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/statistics.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// s between two consecutive spans, for the readings of the clock.
constexpr double kSame = 1e-6;

PathPhase path_phase(Phase phase) {
  return phase == Phase::kCompute    ? PathPhase::kCompute
         : phase == Phase::kCompress ? PathPhase::kCompress
         : phase == Phase::kExchange ? PathPhase::kExchange
                                     : PathPhase::kDecode;
}

// A span in the common time of all ranks.
struct Span {
  PhaseSpan what;
  std::size_t occurrence = 0;  // among the rank's exchanges of its bucket
  double came = 0;             // time at which an exchange's last rank began it; else its own begin
  bool followed = false;
};

struct Rank {
  double begin = 0, end = 0;
  std::vector<Span> spans;
  bool nests = false;  // other phases lie within compute, which is then the rest between them
};

Rank rank_of(const StepTimeline& from, double origin) {
  Rank rank;
  rank.begin = from.begun - origin;
  rank.end = rank.begin + from.total;
  Timeline sorted = from.spans;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PhaseSpan& a, const PhaseSpan& b) { return a.begin < b.begin; });
  for (PhaseSpan span : sorted) {
    span.begin += rank.begin;
    span.end += rank.begin;
    std::size_t occurrence = 0;
    for (const Span& before : rank.spans)
      occurrence += before.what.phase == Phase::kExchange && span.phase == Phase::kExchange &&
                            before.what.bucket == span.bucket
                        ? 1
                        : 0;
    rank.spans.push_back({span, occurrence, span.begin});
  }
  for (const Span& compute : rank.spans)
    for (const Span& inner : rank.spans)
      rank.nests = rank.nests ||
                   (compute.what.phase == Phase::kCompute && inner.what.phase == Phase::kCompress &&
                    inner.what.begin > compute.what.begin + kSame &&
                    inner.what.begin < compute.what.end - kSame);
  return rank;
}

// Returns the seconds that the rank has spent in a phase up to the time `until`. An exchange counts
// from the time at which all ranks have begun it. If other phases lie within compute, compute
// excludes their time.
double spent(const Rank& rank, PathPhase phase, double until) {
  if (phase == PathPhase::kStart) return rank.begin;
  double sum = 0, nested = 0;
  for (const Span& span : rank.spans) {
    const double seconds = std::max(0.0, std::min(span.what.end, until) - span.came);
    if (path_phase(span.what.phase) == phase) sum += seconds;
    if (span.what.phase == Phase::kCompress || span.what.phase == Phase::kDecode) nested += seconds;
  }
  return phase == PathPhase::kCompute && rank.nests ? sum - nested : sum;
}

// Adds a piece of more than 0 s to the one of the same rank and phase.
void add_piece(std::vector<PathPiece>& pieces, const PathPiece& more) {
  if (more.seconds <= 0) return;
  const auto same = std::find_if(pieces.begin(), pieces.end(), [&](const PathPiece& piece) {
    return piece.rank == more.rank && piece.phase == more.phase;
  });
  if (same == pieces.end())
    pieces.push_back(more);
  else
    same->seconds += more.seconds;
}

void sort_longest_first(std::vector<PathPiece>& pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const PathPiece& a, const PathPiece& b) { return a.seconds > b.seconds; });
}

class Walk {
 public:
  /// @param served  in the common time of all ranks
  Walk(std::vector<Rank> ranks, bool codec_beside, std::vector<ServedExchange> served)
      : ranks_(std::move(ranks)), codec_beside_(codec_beside), served_(std::move(served)) {
    std::map<std::pair<std::size_t, std::size_t>, double> came;
    const auto each = [&](auto visit) {
      for (Rank& rank : ranks_)
        for (Span& span : rank.spans)
          if (span.what.phase == Phase::kExchange)
            visit(span, came[{span.what.bucket, span.occurrence}]);
    };
    each([](Span& span, double& last) { last = std::max(last, span.what.begin); });
    each([](Span& span, double& last) { span.came = last; });
  }

  StepPath back() {
    const auto last = std::max_element(ranks_.begin(), ranks_.end(),
                                       [](const Rank& a, const Rank& b) { return a.end < b.end; });
    rank_ = static_cast<std::size_t>(last - ranks_.begin());
    now_ = path_.length = last->end;
    needs_ = std::nullopt;
    while (Span* before = enabling()) {
      fill_back_to(before->what.end);
      if (reached_begin_) break;
      before->followed = true;
      follow(*before);
    }
    if (!reached_begin_) fill_back_to(ranks_[rank_].begin);
    add_piece(path_.pieces, {int(rank_), PathPhase::kStart, now_});
    for (auto* pieces : {&path_.pieces, &path_.waits}) sort_longest_first(*pieces);
    return std::move(path_);
  }

 private:
  // Returns true if the work that begins at now_ may have waited for the span.
  bool needed(const PhaseSpan& span) const {
    const bool compute = span.phase == Phase::kCompute;
    if (compute && ranks_[rank_].nests) return false;  // fill_back_to() finds it
    if (!needs_) return true;                          // the step's end
    const bool same_bucket = span.bucket == needs_->bucket;
    switch (needs_->phase) {
      case Phase::kExchange:
        // Buckets are pushed to servers while earlier buckets are pulled.
        return (span.phase == Phase::kExchange && served_.empty()) ||
               (span.phase == Phase::kCompress && same_bucket) || compute;
      case Phase::kDecode:
      case Phase::kCompress:
        return span.phase != Phase::kExchange || same_bucket;
      case Phase::kCompute:
        break;
    }
    return span.phase != Phase::kExchange || !ranks_[rank_].nests;
  }

  // Returns the needed span that ended last.
  Span* enabling() {
    Span* best = nullptr;
    for (Span& span : ranks_[rank_].spans) {
      if (span.followed || span.what.end > now_ + kSame || !needed(span.what)) continue;
      if (best == nullptr || span.what.end >= best->what.end) best = &span;
    }
    return best;
  }

  bool computes_at(double moment) const {
    for (const Span& span : ranks_[rank_].spans)
      if (span.what.phase == Phase::kCompute && span.what.begin < moment &&
          span.what.end >= moment - kSame)
        return true;
    return false;
  }

  // Goes back on the path from now_ to `moment`, through one phase of a host.
  void back_to(double moment, std::size_t host, PathPhase phase) {
    moment = std::min(moment, now_);
    add_piece(path_.pieces, {int(host), phase, now_ - moment});
    now_ = moment;
  }

  // Goes back on the path from now_ to `moment`, the end of the span for which the later work
  // waited. Between these times the rank computed the gradient, or did no recorded work.
  void fill_back_to(double moment) {
    if (now_ - moment <= kSame) return back_to(moment, rank_, PathPhase::kOther);
    const bool computes = ranks_[rank_].nests && computes_at(now_);
    if (computes && codec_beside_) {
      moment = ranks_[rank_].begin;
      reached_begin_ = true;
    }
    back_to(moment, rank_, computes ? PathPhase::kCompute : PathPhase::kOther);
  }

  void follow(const Span& span) {
    needs_ = span.what;
    if (span.what.phase == Phase::kExchange) {
      if (const ServedExchange* answer = last_answer(span.what)) return follow_answer(*answer);
      return follow_exchange(span);
    }
    back_to(span.what.begin, rank_, path_phase(span.what.phase));
  }

  // Returns the servers' last answer in an exchange, no later than the exchange's end.
  const ServedExchange* last_answer(const PhaseSpan& exchange) const {
    const ServedExchange* last = nullptr;
    for (const ServedExchange& one : served_)
      if (one.bucket == exchange.bucket && one.answered <= exchange.end + kSame &&
          (last == nullptr || one.answered > last->answered))
        last = &one;
    return last;
  }

  // Goes to the server, and from the server to the worker whose payload arrived last.
  void follow_answer(const ServedExchange& answer) {
    const auto server = static_cast<std::size_t>(answer.host);
    back_to(answer.answered, rank_, PathPhase::kExchange);
    back_to(answer.averaged, server, PathPhase::kCompress);
    back_to(answer.arrived, server, PathPhase::kDecode);
    rank_ = static_cast<std::size_t>(answer.last);
    std::vector<double> others;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Span* met = find_exchange(r, answer.bucket, 0);
      if (met == nullptr) continue;
      if (r != rank_) {
        others.push_back(met->what.begin);
        continue;
      }
      back_to(met->what.begin, rank_, PathPhase::kExchange);
      met->followed = true;
    }
    if (!others.empty()) note_wait(median(others));
  }

  // Goes to the rank that began the exchange last.
  void follow_exchange(const Span& span) {
    const std::size_t bucket = span.what.bucket, occurrence = span.occurrence;
    std::size_t last = rank_;
    double came = span.what.begin;
    std::vector<double> others;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Span* met = find_exchange(r, bucket, occurrence);
      if (met == nullptr) continue;
      if (met->what.begin > came) {
        came = met->what.begin;
        last = r;
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (const Span* met = find_exchange(r, bucket, occurrence); met != nullptr && r != last)
        others.push_back(met->what.begin);
    back_to(came, rank_, PathPhase::kExchange);
    if (Span* met = find_exchange(last, bucket, occurrence)) met->followed = true;
    rank_ = last;
    if (!others.empty()) note_wait(median(others));
  }

  // Notes the phase for which the other ranks have waited since `since`.
  void note_wait(double since) {
    if (now_ <= since) return;
    PathPhase most = PathPhase::kOther;
    double excess = 0;
    for (const PathPhase phase : {PathPhase::kStart, PathPhase::kCompute, PathPhase::kCompress,
                                  PathPhase::kExchange, PathPhase::kDecode}) {
      std::vector<double> theirs;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        if (r != rank_) theirs.push_back(spent(ranks_[r], phase, since));
      const double more = spent(ranks_[rank_], phase, now_) - median(theirs);
      if (more > excess) {
        excess = more;
        most = phase;
      }
    }
    add_piece(path_.waits, {int(rank_), most, now_ - since});
  }

  Span* find_exchange(std::size_t rank, std::size_t bucket, std::size_t occurrence) {
    for (Span& span : ranks_[rank].spans)
      if (span.what.phase == Phase::kExchange && span.what.bucket == bucket &&
          span.occurrence == occurrence)
        return &span;
    return nullptr;
  }

  std::vector<Rank> ranks_;
  bool codec_beside_;
  std::vector<ServedExchange> served_;
  StepPath path_;
  std::size_t rank_ = 0;
  double now_ = 0;
  std::optional<PhaseSpan> needs_;  // the span that begins at now_; none at the step's end
  bool reached_begin_ = false;
};

// Returns the sums over all steps by rank and phase, as fractions of all steps' time.
json shares(std::span<const StepPath> paths, std::vector<PathPiece> StepPath::*pieces) {
  std::vector<PathPiece> sums;
  double length = 0;
  for (const StepPath& path : paths) {
    length += path.length;
    for (const PathPiece& piece : path.*pieces) add_piece(sums, piece);
  }
  sort_longest_first(sums);
  json all = json::array();
  for (const PathPiece& sum : sums)
    all.push_back({{"host", sum.rank},
                   {"phase", to_string(sum.phase)},
                   {"share", length > 0 ? sum.seconds / length : 0}});
  return all;
}

}  // namespace

const char* to_string(PathPhase phase) {
  constexpr const char* kPhaseNames[] = {"start",    "compute", "compress",
                                         "exchange", "decode",  "other"};
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

StepPath critical_path(std::span<const StepTimeline> ranks, bool codec_beside,
                       std::span<const ServedExchange> served) {
  if (ranks.empty()) return {};
  double origin = ranks[0].begun;
  for (const StepTimeline& rank : ranks) origin = std::min(origin, rank.begun);
  std::vector<Rank> all;
  for (const StepTimeline& rank : ranks) all.push_back(rank_of(rank, origin));
  std::vector<ServedExchange> answers(served.begin(), served.end());
  for (ServedExchange& answer : answers)
    for (double* moment : {&answer.arrived, &answer.averaged, &answer.answered}) *moment -= origin;
  return Walk(std::move(all), codec_beside, std::move(answers)).back();
}

RateOf rates_as_set(const Topology& topology) {
  return [links = links_as_set(topology)](int link, bool up) {
    return rate_of(links[static_cast<std::size_t>(link)], up);
  };
}

std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds) {
  std::vector<LinkUse> uses;
  if (!count.counted || seconds <= 0) return uses;
  const auto add = [&](int link, std::uint64_t up, std::uint64_t down) {
    double busy = -1;
    if (const double bits = rate(link, true); bits > 0)
      busy = std::max(busy, static_cast<double>(up) * 8 / (bits * seconds));
    if (const double bits = rate(link, false); bits > 0)
      busy = std::max(busy, static_cast<double>(down) * 8 / (bits * seconds));
    if (busy >= 0) uses.push_back({topology.link_name(link), busy});
  };
  const int hosts = static_cast<int>(topology.hosts.size());
  for (int host = 0; host < hosts; ++host) {
    const auto i = static_cast<std::size_t>(host);
    if (i < count.sent_by.size() && i < count.received_by.size())
      add(host, count.sent_by[i], count.received_by[i]);
  }
  for (std::size_t i = 0; i < count.trunks.size() && i < topology.trunks.size(); ++i)
    add(hosts + static_cast<int>(i), count.trunks[i].up, count.trunks[i].down);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return uses;
}

std::vector<StepTimeline> timelines_of(const StepAnswers& step, bool one_clock) {
  std::vector<StepTimeline> timelines;
  for (const WorkerStep& rank : step.workers) {
    StepTimeline& timeline = timelines.emplace_back();
    timeline.begun = one_clock ? rank.begun : 0;
    timeline.spans = rank.timeline;
    for (const PhaseSpan& span : rank.timeline) timeline.total = std::max(timeline.total, span.end);
  }
  return timelines;
}

std::vector<ServedExchange> served_by(const StepAnswers& step, bool one_clock) {
  std::vector<ServedExchange> all;
  if (!one_clock) return all;
  // Servers' hosts follow the workers'.
  int host = static_cast<int>(step.workers.size());
  for (const ServerStep& server : step.servers) {
    for (const auto& [bucket, unit] : server.served)
      all.push_back({.host = host,
                     .bucket = bucket,
                     .last = unit.last,
                     .arrived = unit.arrived,
                     .averaged = unit.averaged,
                     .answered = unit.answered});
    ++host;
  }
  return all;
}

double exchange_seconds(std::span<const std::vector<StepTimeline>> steps) {
  double sum = 0;
  for (const std::vector<StepTimeline>& ranks : steps) {
    double least = std::numeric_limits<double>::infinity();
    for (const StepTimeline& rank : ranks)
      least = std::min(least, time_in(rank.spans, Phase::kExchange));
    if (!ranks.empty()) sum += least;
  }
  return sum;
}

json longest_payload(std::span<const StepAnswers> steps) {
  std::vector<double> bytes;
  for (const auto& [ranks, servers] : steps) {
    bytes.resize(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      bytes[rank] += static_cast<double>(ranks[rank].payload_bytes);
  }
  if (bytes.size() < 2) return nullptr;
  const auto most = std::max_element(bytes.begin(), bytes.end());
  const auto host = most - bytes.begin();
  std::vector<double> others = bytes;
  others.erase(others.begin() + host);
  const double median_of_others = median(others);
  if (median_of_others <= 0 || *most <= median_of_others) return nullptr;
  return {{"host", host}, {"times", *most / median_of_others}};
}

json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                 double time_scale) {
  json steps = {{"seconds", json::array()},
                {"host", json::array()},
                {"phase", json::array()},
                {"spent", json::array()},
                {"waited", json::array()}};
  for (const StepPath& path : paths) {
    double waited = 0;
    for (const PathPiece& wait : path.waits) waited += wait.seconds;
    const PathPiece most = path.pieces.empty() ? PathPiece{} : path.pieces.front();
    steps["seconds"].push_back(path.length / time_scale);
    steps["host"].push_back(most.rank);
    steps["phase"].push_back(to_string(most.phase));
    steps["spent"].push_back(most.seconds / time_scale);
    steps["waited"].push_back(waited / time_scale);
  }
  json record = {{"pieces", shares(paths, &StepPath::pieces)},
                 {"waits", shares(paths, &StepPath::waits)},
                 {"steps", std::move(steps)}};
  if (uses.size() > 1) {
    std::vector<double> others;
    for (const LinkUse& use : uses.subspan(1)) others.push_back(use.busy);
    record["link"] = {{"name", uses[0].name}, {"busy", uses[0].busy}, {"others", median(others)}};
  }
  return record;
}

}  // namespace thinpipe
