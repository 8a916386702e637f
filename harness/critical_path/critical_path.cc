#include "harness/critical_path/critical_path.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/statistics.h"

namespace thinpipe {
namespace {

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

}  // namespace

const char* to_string(PathPhase phase) {
  constexpr const char* kPhaseNames[] = {"start",    "compute", "compress",
                                         "exchange", "decode",  "other"};
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

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

}  // namespace thinpipe
