#include "harness/plan/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "compressors/cuda/gpu.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/files/open_trace.h"
#include "harness/machine/machine.h"
#include "harness/options/terminal.h"
#include "netem/schedule/links.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "reports/gate/measured.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/plan.h"
#include "workloads/simulate/work.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Returns the option as typed: " --compute-scale 2", " without --target".
std::string as_typed(std::string name, const json& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (value.is_null()) return " without --" + name;
  return fmt::format(" --{} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
}

// @throws InputError for several epochs where no compressor has a warm-up, so that all are alike.
void check_epochs(const SweepOptions& options) {
  if (!options.plugins.empty()) return;  // a plug-in's method may use the epoch in any way
  const bool same = std::ranges::all_of(options.bucketings, [&](const Bucketing& bucketing) {
    return bucketing.epoch == options.bucketings.front().epoch;
  });
  const auto warms_up = [](const auto& compressor_or_collective) {
    const std::string text = compressor_or_collective.to_string();
    const std::size_t at = text.find("warmup=");
    return at != std::string::npos && text.compare(at + 7, 4, "none") != 0;
  };
  if (same || std::ranges::any_of(options.compressors, warms_up) ||
      std::ranges::any_of(options.collectives, warms_up))
    return;
  throw InputError(fmt::format(
      "--epoch: {} a warm-up, so all epochs would measure the same; expected a compressor with "
      "one, such as dgc:warmup=0.25/0.0625/0.015625/0.004, or one epoch",
      options.compressors.size() == 1 ? options.compressors.front().to_string() + " has not"
                                      : "none of the compressors has"));
}

// @throws InputError for fragments, with an option or method that has only the whole model
void refuse_fragments(const SweepOptions& options, const std::string& what) {
  for (const Bucketing& bucketing : options.bucketings) {
    if (bucketing.fragments > 1)
      throw InputError(
          fmt::format("--fragments {} with {}; expected --fragments 1", bucketing.fragments, what));
    if (bucketing.fragment_delay > 0)
      throw InputError(fmt::format("--fragment-delay {} with {}; expected --fragment-delay 0",
                                   bucketing.fragment_delay, what));
  }
}

}  // namespace

void check_same_trace(const Records& existing, const Trace& trace) {
  for (const Header& header : existing.headers)
    if (header.trace.text("identity") != trace.identity())
      throw InputError(fmt::format(
          "{}: these records are of a different trace ({}, not {}); give another --out",
          existing.file.string(), header.trace->value("path", "?"), trace.folder().string()));
}

std::vector<LinkSpec> all_links(const SweepOptions& options) {
  std::vector<LinkSpec> links;
  const auto planned = [&](const LinkSpec& link) {
    return links_as_set(options.topology.plan(host_counts(options)[0], link));
  };
  for (std::size_t i = 1; i < options.links.size(); ++i)
    if (planned(options.links[i]) == planned(options.links[0]))
      throw InputError(
          fmt::format("topology '{}': none of its links depends on --link, so {} and {} would "
                      "measure the same; give one --link",
                      options.topology.to_string(), options.links[0].to_string(),
                      options.links[i].to_string()));
  const auto add = [&](const std::vector<LinkSpec>& more) {
    for (const LinkSpec& one : more) add_once(links, one);
  };
  for (const int hosts : host_counts(options))
    for (const LinkSpec& link : options.links) {
      const Topology plan = options.topology.plan(hosts, link);
      add(links_as_set(plan));
      for (const ScheduleSpec& schedule : options.schedules)
        add(links_as_played(scheduled_links(plan, schedule)));
    }
  return links;
}

void check_collectives(const SweepOptions& options) {
  for (const Spec& collective : options.collectives)
    for (const int ranks : options.ranks) check_collective(collective, ranks);
  for (const Spec& collective : options.collectives)
    if (const int servers = servers_of(collective);
        servers > 0 && options.topology.kind == "ps" && servers != options.topology.servers())
      throw InputError(
          fmt::format("collective '{}' has {} servers, but topology '{}' has {}; expected as many",
                      collective.to_string(), servers, options.topology.to_string(),
                      options.topology.servers()));
  for (const CompressorRules& compressor : options.compressors)
    if (collectives_for(compressor, options).empty())
      exchange_name(options.collectives.front(), compressor);  // throws with the reason
  for (const Spec& collective : options.collectives)
    if (std::ranges::none_of(options.compressors,
                             [&](const auto& one) { return serves_all(collective, one); }))
      exchange_name(collective, options.compressors.front());
}

const Spec* with_updating_servers(const SweepOptions& options) {
  for (const Spec& collective : options.collectives)
    if (find_collective(collective.name).can(Exchange::kPushPull) &&
        push_pull_options(collective, 1).servers_update)
      return &collective;
  return nullptr;
}

void check_trace_suffices(const SweepOptions& options) {
  if (const Spec* const collective = with_updating_servers(options))
    throw InputError(
        fmt::format("collective '{}': with update=servers, servers need a model, and a trace has "
                    "only gradients; expected `thinpipe train`, or update=workers",
                    collective->to_string()));
}

std::vector<std::string> pairs_left_out(const SweepOptions& options) {
  std::vector<std::string> pairs;
  for (const CompressorRules& compressor : options.compressors)
    for (const Spec& collective : options.collectives)
      if (!serves_all(collective, compressor))
        pairs.push_back(compressor.to_string() + " with " + collective.to_string());
  return pairs;
}

void check_fragments(const SweepOptions& options) {
  for (const Bucketing& bucketing : options.bucketings) {
    if (!bucketing.takes_turns()) continue;
    if (bucketing.local_steps < bucketing.fragments)
      throw InputError(
          fmt::format("--fragments {}: each fragment has its turn in another local step; expected "
                      "--local-steps of at least {}, not {}",
                      bucketing.fragments, bucketing.fragments, bucketing.local_steps));
    const std::uint64_t between = bucketing.local_steps / bucketing.fragments;
    if (bucketing.fragment_delay >= between)
      throw InputError(fmt::format(
          "--fragment-delay {}: one fragment is exchanged at a time, and the next one has its turn "
          "after {} local step{}; expected at most {} with --local-steps {} and --fragments {}",
          bucketing.fragment_delay, between, between == 1 ? "" : "s", between - 1,
          bucketing.local_steps, bucketing.fragments));
    if (bucketing.granularity != Granularity::kTensor)
      refuse_fragments(options, fmt::format("--granularity {}: fragments are runs of tensors",
                                            to_string(bucketing.granularity)));
    if (bucketing.overlap != Overlap::kNone)
      refuse_fragments(options, "--overlap bucket: a fragment leaves after a whole local step");
    for (const CompressorRules& compressor : options.compressors)
      for (const Spec& spec : compressor.specs())
        if (make_compressor(spec, {"", {1}, 1}, {})->period() > 1)
          refuse_fragments(options,
                           fmt::format("{}: its delay would skip turns", spec.to_string()));
  }
  for (const Spec& collective : options.collectives)
    if (find_collective(collective.name).can(Exchange::kPushPull))
      refuse_fragments(options, fmt::format("collective {}: its servers average the whole model",
                                            collective.to_string()));
  if (options.device != kDeviceCpu)
    refuse_fragments(options, fmt::format("--device {}: sums of fragments are in the host's memory",
                                          options.device));
  if (options.simulated)
    refuse_fragments(
        options, fmt::format("--engine {}: only whole models are exchanged there", kSimGridEngine));
}

void check_time_scales(const SweepOptions& options) {
  for (const double factor : options.time_scales) {
    if (factor == 1) continue;
    if (factor != kAutoTimeScale && factor < 1 &&
        std::ranges::any_of(options.bucketings, [](const Bucketing& bucketing) {
          return bucketing.overlap != Overlap::kNone;
        }))
      throw InputError(
          "--overlap bucket and a --time-scale below 1: codecs overlap exchanges, and only the "
          "links can be sped up; expected at least 1, or --overlap none");
    if (factor != kAutoTimeScale && factor < 1 &&
        std::ranges::any_of(options.bucketings, [](const Bucketing& bucketing) {
          return bucketing.fragment_delay > 0;
        }))
      throw InputError(
          "--fragment-delay and a --time-scale below 1: exchanges overlap compute, and only the "
          "links can be sped up; expected at least 1, or --fragment-delay 0");
    if (options.hosts && options.hosts->shape.empty())
      throw InputError(
          "--time-scale with --hosts and without --shape: the network would not be slowed down; "
          "expected 1");
    if (options.hosts && factor == kAutoTimeScale)
      throw InputError(
          "--time-scale auto: the capacity of real machines is not measured before a run; with "
          "--hosts expected a number");
    if (factor == kAutoTimeScale) continue;
    for (const int hosts : host_counts(options))  // refuses before the sandbox is made
      for (const LinkSpec& link : options.links) {
        const Topology plan = slowed(options.topology.plan(hosts, link), factor);
        for (const ScheduleSpec& schedule : options.schedules)
          scheduled_links(plan, schedule.slowed(factor));
      }
  }
}

void check_on_device(const SweepOptions& options) {
  if (options.device == kDeviceCpu) return;
  const std::string with = "--device " + options.device;
  for (const CompressorRules& rules : options.compressors)
    for (const Spec& spec : rules.specs()) check_on_gpus(spec);
  for (const Spec& collective : options.collectives) {
    if (!find_collective(collective.name).can(Exchange::kPushPull)) continue;
    if (const auto pull = push_pull_options(collective, 1).pull) check_on_gpus(*pull);
  }
  for (const double factor : options.time_scales)
    if (factor < 1 && factor != kAutoTimeScale)
      throw InputError(
          fmt::format("--time-scale {} with {}: copies to and from a GPU cannot be sped up; "
                      "expected at least 1",
                      factor, with));
  if (!options.hosts) require_gpu();
}

void check_simulated(const SweepOptions& options) {
  const std::string with = fmt::format("--engine {}", kSimGridEngine);
  if (options.hosts) throw InputError(with + " and --hosts: real machines are not simulated");
  if (options.device != kDeviceCpu || options.compute_works)
    throw InputError(with +
                     ": expected --device cpu and --compute wait, because ranks compute and "
                     "compress in simulated time");
  if (options.time_scales != std::vector<double>{1})
    throw InputError(with + ": expected --time-scale 1, because simulated links have any rate");
  for (const ScheduleSpec& schedule : options.schedules)
    if (!schedule.empty()) throw InputError(with + ": links with a --schedule are not simulated");
  for (const LinkSpec& link : options.links)
    if (link.disturbs())
      throw InputError(fmt::format(
          "{}: link '{}' loses, reorders or delays single frames, which SimGrid does not simulate",
          with, link.to_string()));
  if (!options.topology.is_star() &&
      disturbs(options.topology.plan(host_counts(options).back(), options.links.front())))
    throw InputError(
        fmt::format("{}: a link of topology '{}' loses, reorders or delays single "
                    "frames, which SimGrid does not simulate",
                    with, options.topology.to_string()));
  const bool overlaps = std::ranges::any_of(options.bucketings, [](const Bucketing& bucketing) {
    return bucketing.overlap != Overlap::kNone;
  });
  for (const Spec& collective : options.collectives)
    if (overlaps && find_collective(collective.name).can(Exchange::kPushPull))
      throw InputError(fmt::format(
          "{}: with servers (collective {}), buckets are pushed one after the other; expected "
          "--overlap none",
          with, collective.to_string()));
  if (!options.topology.is_star() && host_counts(options).back() > kMaxHosts)
    throw InputError(
        fmt::format("{}: expected at most {} hosts, or --topology star", with, kMaxHosts));
  for (const CompressorRules& compressor : options.compressors)
    for (const Spec& collective : collectives_for(compressor, options))
      for (const Spec& spec : compressor.specs())
        for (const int ranks : options.ranks)
          if (const std::string why = why_not_simulated(collective, exchange_of(collective, spec),
                                                        ranks + servers_of(collective));
              !why.empty())
            throw InputError(fmt::format("{}: collective {} with {} and {} ranks: {}", with,
                                         collective.to_string(), spec.to_string(), ranks, why));
}

void warn_of_rules(const std::vector<CompressorRules>& compressors, const Trace& trace) {
  std::vector<std::string> names, told;
  for (const TraceTensor& tensor : trace.tensors()) names.push_back(tensor.name);
  if (names.empty()) return;
  for (const CompressorRules& rules : compressors)
    for (const std::string& pattern : rules.unmatched(names)) {
      if (std::ranges::find(told, pattern) != told.end()) continue;
      told.push_back(pattern);
      const std::string& nearest = *std::ranges::min_element(
          names, {}, [&](const std::string& name) { return edit_distance(pattern, name); });
      tell_user(fmt::format("compressor rule {} matches none of the {} tensors; the nearest is {}",
                            in_quotes(pattern), names.size(), in_quotes(nearest)));
    }
}

void check_sweep(const SweepOptions& options, const Trace& trace) {
  warn_of_rules(options.compressors, trace);
  check_fragments(options);
  for (const Bucketing& bucketing : options.bucketings)
    if (bucketing.takes_turns())
      plan_buckets(trace.tensors(), kUncompressed, bucketing);  // throws for too few tensors
  if (options.simulated) {
    check_collectives(options);
    check_epochs(options);
    check_simulated(options);
    // Throws for a wrong topology. A star is not limited by what one machine can emulate.
    if (!options.topology.is_star()) all_links(options);
    return;
  }
  if (!options.hosts) {
    const int ranks = host_counts(options).back();
    constexpr double kElementBytes = 12;  // message, aggregate, contribution; without the gradient
    // Servers store the gradients that all workers push: one more float for each element.
    const bool servers = ranks > *std::max_element(options.ranks.begin(), options.ranks.end());
    const double element_bytes = kElementBytes + (servers ? sizeof(float) : 0);
    require_memory(trace, fmt::format("{} ranks", ranks),
                   ranks * (element_bytes * static_cast<double>(trace.elements()) +
                            static_cast<double>(trace.generated_bytes_per_rank())));
  }
  check_collectives(options);
  check_epochs(options);
  check_time_scales(options);
  check_on_device(options);
  if (!options.hosts) all_links(options);  // throws for a wrong topology
}

json settings_of(const SweepOptions& options) {
  json settings = {{"steps", options.steps},
                   {"warmup", options.warmup},
                   {"compute_scale", options.compute_scale},
                   {"non_finite", options.zero_non_finite ? "zero" : "error"}};
  if (options.compute_works) settings["compute"] = "work";
  if (options.simulated) {
    settings["engine"] = kSimGridEngine;
    settings["message_time"] = options.message_time ? json(*options.message_time) : json(nullptr);
    settings["cores"] = options.cores;
  }
  if (options.hosts) {
    settings["hosts"] = fmt::format("{}", fmt::join(options.hosts->names, ","));
    settings["mpi_iface"] = options.hosts->mpi_interface;
  }
  return settings;
}

void check_same_settings(const Records& existing, const SweepOptions& options,
                         const json& settings) {
  Header present;
  present.seed = options.seed;
  present.threads = options.threads;
  present.simd = simd_target();
  present.settings = Document(settings);
  const json now = common_settings(present);
  // Points that succeeded with `error` had no values to replace. Those that failed are measured
  // again, but not trainings that diverged.
  const bool may_replace = std::ranges::none_of(existing.points, &Point::diverged);
  for (const Header& header : existing.headers) {
    const json before = common_settings(header);
    std::string found, expected;
    for (const auto& [name, value] : before.items()) {
      if (!now.contains(name) || now.at(name) == value) continue;
      if (name == "non_finite" && value == "error" && may_replace) continue;
      found += as_typed(name, value);
      expected += as_typed(name, now.at(name));
    }
    if (!found.empty())
      throw InputError(
          fmt::format("{}: these records were measured with{}, not with{}; give another --out, or "
                      "the same options",
                      existing.file.string(), found, expected));
  }
}

}  // namespace thinpipe
