#include "netem/schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/link/link_keys.h"
#include "netem/link/link_spec.h"

namespace thinpipe {
namespace {

CurvePtr constant(double value) { return table_curve({{0, value}}, false); }

// `inner` dilated in time by `factor`, with its values multiplied by `times`.
class SlowedCurve : public ScheduleCurve {
 public:
  SlowedCurve(CurvePtr inner, double factor, double times)
      : inner_(std::move(inner)), factor_(factor), times_(times) {}

  double at(double t) const override { return times_ * inner_->at(t / factor_); }
  double integral(double from, double to) const override {
    return times_ * factor_ * inner_->integral(from / factor_, to / factor_);
  }
  double next_corner(double t) const override {
    double corner = inner_->next_corner(t / factor_);
    while (factor_ * corner <= t) corner = inner_->next_corner(corner);  // by rounding
    return factor_ * corner;
  }
  bool steady_after(double t) const override { return inner_->steady_after(t / factor_); }
  double least() const override { return times_ * inner_->least(); }
  double most() const override { return times_ * inner_->most(); }

 private:
  CurvePtr inner_;
  double factor_, times_;
};

CurvePtr slowed_curve(const CurvePtr& inner, double factor, double times) {
  return std::make_shared<SlowedCurve>(inner, factor, times);
}

const std::vector<std::string> kKinds = {"steps",  "ramp",     "sine", "walk",
                                         "outage", "mahimahi", "csv"};
constexpr double kDefaultBin = 0.05;  // s
constexpr double kMinBin = 1e-3;
// Relative. Dilated links have whole bytes/s, of which there may be as few as 125.
constexpr double kRounding = 5e-3;

bool is_kind(const std::string& word) {
  return std::find(kKinds.begin(), kKinds.end(), word) != kKinds.end();
}

// A part and its links, such as `host3: sine:low=...`; "" for all links.
struct NamedPart {
  std::string links, part;
};

// Splits a link name off the part. A name counts only if a kind of schedule follows.
NamedPart take_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || is_kind(std::string(text.substr(0, colon))))
    return {"", std::string(text)};
  const std::size_t begin = text.find_first_not_of(" \t", colon + 1);
  if (begin == std::string_view::npos) return {"", std::string(text)};
  const std::string rest(text.substr(begin));
  if (!is_kind(rest.substr(0, rest.find(':')))) return {"", std::string(text)};
  return {std::string(text.substr(0, colon)), rest};
}

bool is_part(const std::string& text) {
  const std::string part = take_name(text).part;
  return is_kind(part.substr(0, part.find(':')));
}

bool is_link_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

// Wraps `make` in a cache, so that links with equal own values share one curve while any of them
// uses it. Sharing saves memory: a random walk of a million steps takes 24 MB, and a thousand links
// have two directions each.
std::function<CurvePtr(double)> shared(std::function<CurvePtr(double)> make) {
  struct Made {
    std::mutex mutex;
    std::map<double, std::weak_ptr<const ScheduleCurve>> curves;
  };
  return [make = std::move(make), made = std::make_shared<Made>()](double own) {
    const std::lock_guard lock(made->mutex);
    std::weak_ptr<const ScheduleCurve>& kept = made->curves[own];
    CurvePtr curve = kept.lock();
    if (!curve) kept = curve = make(own);
    return curve;
  };
}

class Parser {
 public:
  void part(const std::string& where, std::string_view text) {
    const NamedPart named = take_name(text);
    if (named.part.size() < text.size() && !is_link_name(named.links))
      throw InputError(fmt::format(
          "{} {}: {} is not a link name (such as host3, host4-7, rack0, site0-site1, trunks)",
          where, in_quotes(text), in_quotes(named.links)));
    KeyValues items = KeyValues::after_name(
        named.links.empty() ? where : where + " of " + excerpt(named.links), named.part);
    prefix_ = named.links.empty() ? "" : named.links + ":";
    into_ = &of_links(named.links);
    const std::string kind = named.part.substr(0, named.part.find(':'));
    if (kind == "outage") {
      if (into_->outage) items.fail("a second outage; every= repeats the first one");
      into_->outage = parse_outage(items);
      add_text(outage_text(*into_->outage));
    } else if (kind == "steps" || kind == "ramp") {
      add(items, {parse_table(items, kind == "ramp")});
    } else if (kind == "sine") {
      add(items, {parse_sine(items)});
    } else if (kind == "walk") {
      add(items, {parse_walk(items)});
    } else if (kind == "mahimahi") {
      mahimahi(items);
    } else if (kind == "csv") {
      csv(items);
    } else {
      items.fail(fmt::format("{} is neither a kind of schedule (known: {}) nor a file{}",
                             in_quotes(kind), fmt::join(kKinds, ", "), did_you_mean(kind, kKinds)));
    }
  }

  ScheduleSpec spec() && {
    ScheduleSpec::Named named;
    Parts general;
    for (Parts& one : parts_) {
      if (one.links.empty())
        general = std::move(one);
      else
        named.emplace_back(one.links, ScheduleSpec(std::move(one.parts), one.outage, "", ""));
    }
    ScheduleSpec spec(std::move(general.parts), general.outage, std::move(text_),
                      std::move(digest_));
    spec.set_named(std::move(named));
    return spec;
  }

 private:
  struct Parts {
    std::string links;
    std::vector<SchedulePart> parts;
    std::optional<OutageTimes> outage;
  };

  Parts& of_links(const std::string& links) {
    for (Parts& one : parts_)
      if (one.links == links) return one;
    return parts_.emplace_back(Parts{links, {}, {}});
  }

  void add_text(const std::string& text) {
    if (text.empty()) return;
    text_ += (text_.empty() ? "" : ";") + prefix_ + text;
  }

  void add(const KeyValues& items, std::vector<SchedulePart> parts) {
    for (SchedulePart& part : parts) {
      for (const SchedulePart& before : into_->parts)
        if (before.quantity == part.quantity)
          items.fail(fmt::format("the {} is scheduled already", quantity_name(part.quantity)));
      add_text(part.text);
      part.curve = shared(std::move(part.curve));
      into_->parts.push_back(std::move(part));
    }
  }

  std::string take_file(KeyValues& items, std::string& content) {
    std::string path = items.take("file");
    ScheduleFile file = read_schedule_file(path);
    content = std::move(file.text);
    digest_ += (digest_.empty() ? "" : "+") + file.digest;
    return path;
  }

  void mahimahi(KeyValues& items) {
    std::string content;
    const std::string path = take_file(items, content);
    const double bin = take_span(items, "bin", kMinBin, kDefaultBin);
    items.finish();
    const CurvePtr curve = parse_mahimahi(content, path, bin);
    add(items, {{Quantity::kRate, fmt::format("mahimahi:file={},bin={}", path, moment_text(bin)),
                 [curve](double) { return curve; }}});
  }

  void csv(KeyValues& items) {
    std::string content;
    const std::string path = take_file(items, content);
    const bool ramp = items.choice("shape", {"steps", "ramp"}) == 1;
    const double period = take_span(items, "repeat", kMinBin, kNever);
    items.finish();
    std::vector<SchedulePart> parts = parse_schedule_csv(content, path, ramp, period);
    parts.front().text = fmt::format("csv:file={}{}{}", path, ramp ? ",shape=ramp" : "",
                                     period < kNever ? ",repeat=" + moment_text(period) : "");
    add(items, std::move(parts));
  }

  std::vector<Parts> parts_;  // in the order in which their links were first named
  Parts* into_ = nullptr;     // element of parts_ that gets the current part
  std::string prefix_;        // of the current part's text
  std::string text_, digest_;
};

std::string first_statement(const std::string& content) {
  for (const std::string& raw : split(content, '\n')) {
    const std::string line(trimmed(raw));
    if (!line.empty() && line[0] != '#') return line;
  }
  return "";
}

ScheduleSpec parse_file(const std::string& path) {
  const std::string content = read_schedule_file(path).text;
  const std::string line = first_statement(content);
  Parser parser;
  if (line.empty()) throw InputError(path + ": only comments; expected a schedule");
  if (path.find_first_of(",;") != std::string::npos)
    throw InputError(
        fmt::format("schedule file {}: the name must not contain , or ;", in_quotes(path)));
  if (line.find_first_not_of("0123456789") == std::string::npos) {
    parser.part("schedule", "mahimahi:file=" + path);
  } else if (!is_part(line) && line.find(',') != std::string::npos) {
    parser.part("schedule", "csv:file=" + path);
  } else {
    std::size_t number = 0;
    for (const std::string& raw : split(content, '\n')) {
      ++number;
      const std::string_view part = trimmed(std::string_view(raw).substr(0, raw.find('#')));
      if (!part.empty()) parser.part(fmt::format("{}:{}", path, number), part);
    }
  }
  return std::move(parser).spec();
}

}  // namespace

Schedule::Schedule(CurvePtr rate, CurvePtr delay, CurvePtr loss)
    : rate_(std::move(rate)), delay_(std::move(delay)), loss_(std::move(loss)) {}

LinkState Schedule::at(double t) const { return {rate_->at(t), delay_->at(t), loss_->at(t)}; }

LinkState Schedule::mean(double from, double to) const {
  if (to <= from) return at(from);
  const auto mean_of = [&](const ScheduleCurve& curve) {
    // The integral of a constant would be rounded, and a link's setting would seem to change.
    if (curve.steady_after(from) && curve.next_corner(from) >= to) return curve.at(from);
    return curve.integral(from, to) / (to - from);
  };
  return {mean_of(*rate_), mean_of(*delay_), mean_of(*loss_)};
}

double Schedule::time_for(double from, double needed) const {
  constexpr double kLongest = 1e6;
  if (needed <= 0) return 0;
  double high = 1e-3;
  while (bits(from, from + high) < needed)
    if ((high *= 2) > kLongest) return kNever;
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (bits(from, from + middle) < needed ? low : high) = middle;
  }
  return high;
}

double Schedule::next_change(double t, double interval) const {
  double next = kNever;
  for (const CurvePtr& curve : {rate_, delay_, loss_}) {
    next = std::min(next, curve->next_corner(t));
    if (!curve->steady_after(t)) next = std::min(next, t + interval);
  }
  return next;
}

ScheduleSpec::ScheduleSpec(std::vector<SchedulePart> parts, std::optional<OutageTimes> outage,
                           std::string text, std::string digest)
    : parts_(std::move(parts)),
      outage_(outage),
      text_(std::move(text)),
      digest_(std::move(digest)) {}

bool ScheduleSpec::changes(Quantity quantity) const {
  return (quantity == Quantity::kRate && outage_) ||
         std::any_of(parts_.begin(), parts_.end(),
                     [&](const SchedulePart& part) { return part.quantity == quantity; }) ||
         std::any_of(named_.begin(), named_.end(),
                     [&](const auto& one) { return one.second.changes(quantity); });
}

ScheduleSpec ScheduleSpec::with(const ScheduleSpec& over) const {
  ScheduleSpec joined = *this;
  joined.named_.clear();
  for (const SchedulePart& part : over.parts_) {
    std::erase_if(joined.parts_, [&](const auto& old) { return old.quantity == part.quantity; });
    joined.parts_.push_back(part);
  }
  if (over.outage_) joined.outage_ = over.outage_;
  return joined;
}

ScheduleSpec ScheduleSpec::without(Quantity quantity) const {
  ScheduleSpec rest = with({});
  std::erase_if(rest.parts_, [&](const auto& part) { return part.quantity == quantity; });
  if (quantity == Quantity::kRate) rest.outage_.reset();
  return rest;
}

ScheduleSpec ScheduleSpec::slowed(double factor) const {
  ScheduleSpec spec = *this;
  spec.slow_ *= factor;
  return spec;
}

Schedule ScheduleSpec::on(const LinkState& set) const {
  const LinkState own = {set.rate * slow_, set.delay / slow_, set.loss};
  CurvePtr rate = constant(own.rate), delay = constant(own.delay), loss = constant(own.loss);
  for (const SchedulePart& part : parts_) {
    if (part.quantity == Quantity::kRate) rate = part.curve(own.rate);
    if (part.quantity == Quantity::kDelay) delay = part.curve(own.delay);
    if (part.quantity == Quantity::kLoss) loss = part.curve(own.loss);
  }
  if (rate->most() <= 0)
    throw InputError(fmt::format(
        "schedule {}: {}", in_quotes(text_),
        own.rate > 0 ? "the link never has a rate"
                     : "a direction of the link has no rate of its own, and a scheduled link needs "
                       "one in both; give the link up.rate= and down.rate=, or schedule a rate "
                       "such as 10mbit instead of a percentage"));
  if (rate->most() > kHighestLinkRate * (1 + kRounding))
    throw InputError(
        fmt::format("schedule {}: {:.3g} bit/s is above 100gbit", in_quotes(text_), rate->most()));
  const double least = rate->least() * (1 + kRounding);
  if (least > 0 && least < kLowestLinkRate)
    throw InputError(fmt::format("schedule {}: {:.3g} bit/s is neither 0 nor at least 1kbit",
                                 in_quotes(text_), rate->least()));
  if (const double lowest = kLowestLinkRate * slow_; least > 0 && least < lowest)
    throw InputError(fmt::format(
        "schedule {}: {:.3g} bit/s becomes {:.3g} bit/s at time scale {}, at which the smallest "
        "rate above 0 is {}; schedule that rate or 0, or use a smaller time scale",
        in_quotes(text_), rate->least(), rate->least() / slow_, slow_, link_rate_text(lowest)));
  if (outage_) rate = outage_curve(std::move(rate), *outage_);
  if (rate->most() > kHighestLinkRate * slow_ * (1 + kRounding))
    throw InputError(fmt::format("schedule {}: {:.3g} bit/s at time scale {} is above 100gbit",
                                 in_quotes(text_), rate->most(), slow_));
  const Schedule schedule(std::move(rate), std::move(delay), std::move(loss));
  return slow_ == 1 ? schedule : schedule.slowed(slow_);
}

Schedule Schedule::slowed(double factor) const {
  return {slowed_curve(rate_, factor, 1 / factor), slowed_curve(delay_, factor, factor),
          slowed_curve(loss_, factor, 1)};
}

ScheduleSpec parse_schedule(std::string_view text) {
  if (text == "none") return {};
  const std::string whole(text);
  std::error_code error;
  if (!is_part(std::string(trimmed(whole))) && std::filesystem::is_regular_file(whole, error))
    return parse_file(whole);
  Parser parser;
  for (const std::string& one : split(text, ';')) parser.part("schedule", trimmed(one));
  return std::move(parser).spec();
}

}  // namespace thinpipe
