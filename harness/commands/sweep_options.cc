#include "harness/commands/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "compressors/spec.h"
#include "harness/commands/shared_options.h"
#include "netem/schedule/links.h"
#include "netem/topology/time_scale.h"
#include "workloads/collectives/collectives.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr const char* kBothBaselines = "both";

std::vector<CompressorRules> baselines_of(const Arguments& arguments) {
  const std::string& given = arguments.text("baseline");
  std::vector<CompressorRules> baselines;
  for (const char* name : {"none", "bf16"})
    if (given == kBothBaselines || given == name) baselines.emplace_back(parse_spec(name));
  return baselines;
}

// Returns all compressors, baselines first.
std::vector<CompressorRules> compressors_of(const Arguments& arguments) {
  std::vector<CompressorRules> all;
  if (!arguments.flag("no-baseline")) all = baselines_of(arguments);
  DistinctCompressors distinct;
  for (const CompressorRules& baseline : all) distinct.add(baseline);
  for (const std::string& text : arguments.texts("compressor"))
    for (const CompressorRules& rules : CompressorRules::expand(text))
      if (distinct.add(rules)) all.push_back(rules);
  return all;
}

SpecWords collective_words() {
  SpecWords words;
  for (const CollectiveInfo& collective : collectives())
    words[collective.name] = parameter_words(collective.parameters);
  return words;
}

OptionInfo compressors_option() {
  OptionInfo option = compressor_option(true);
  option.default_value = "topk:ratio=0.01";
  option.help += "; 'conv*:none;*:topk:ratio=0.01' selects by tensor name (docs/bucketing.md)";
  return option;
}

std::vector<LinkSpec> links_of(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      if (!link.throttled())
        throw InputError(fmt::format(
            "link {}: expected a rate, such as rate=1gbit, because reports plot results over rates",
            in_quotes(link.to_string())));
      add_once(links, link);
    }
  return links;
}

std::vector<ScheduleSpec> schedules_of(const Arguments& arguments) {
  std::vector<ScheduleSpec> schedules;
  for (const std::string& text : arguments.texts("schedule"))
    add_once(schedules, parse_schedule(text), &ScheduleSpec::to_string);
  return schedules;
}

std::vector<Stragglers> stragglers_of(const Arguments& arguments) {
  std::vector<Stragglers> all;
  for (const std::string& text : arguments.texts("straggler"))
    for (Stragglers& one : Stragglers::expand(text))
      add_once(all, std::move(one), &Stragglers::to_string);
  return all;
}

std::vector<Spec> collectives_of(const Arguments& arguments) {
  std::vector<Spec> collectives;
  std::set<std::string> normal;
  for (const std::string& text : arguments.texts("collective"))
    for (const Spec& collective : expand_collectives(text))
      if (normal.insert(collective_parameters(collective).normal().to_string()).second)
        collectives.push_back(collective);
  return collectives;
}

double number_in(const std::string& option, const std::string& text, double least, double most,
                 bool whole) {
  const auto value = parse_number<double>(text, least, most);
  if (!value || (whole && *value != std::floor(*value)))
    throw InputError(fmt::format("--{} {}: expected a {} from {} to {}, or several joined by '|'",
                                 option, excerpt(text), whole ? "whole number" : "number", least,
                                 most));
  return *value;
}

// Resets settings that have no effect to their defaults, so that equivalent settings are equal.
Bucketing normal(Bucketing bucketing) {
  if (bucketing.overlap == Overlap::kNone) bucketing.codec_beside = false;
  if (bucketing.overlap == Overlap::kNone && bucketing.granularity != Granularity::kBucket)
    bucketing.limits = BucketLimits();
  if (bucketing.fragment_delay == 0) bucketing.fragment_mix = Bucketing::kFragmentMix;
  if (bucketing.granularity == Granularity::kModel) {
    bucketing.overlap = Overlap::kNone;  // no payload is sent before all gradients are ready
    bucketing.codec_beside = false;
    bucketing.limits = BucketLimits();
  }
  return bucketing;
}

// Returns the options of buckets, which bucketings_of() reads.
std::vector<OptionInfo> bucketing_options() {
  return {
      repeatable(text_option("overlap", "WHAT", "none",
                             "when payloads are sent: after the backward pass (none), or each "
                             "bucket when its gradients are ready (bucket); none|bucket measures "
                             "both",
                             {"none", "bucket"})),
      repeatable(text_option("codec", "WHERE", "inline",
                             "with --overlap bucket: the backward pass waits for compression "
                             "(inline) or continues meanwhile (thread)",
                             {"inline", "thread"})),
      repeatable(text_option("buckets", "SPEC", "ddp",
                             "bucket sizes and order, such as first=1mb,rest=25mb,order=ready (or "
                             "reverse); ddp is the default of PyTorch DDP",
                             {"ddp"})),
      repeatable(text_option("granularity", "WHAT", "tensor",
                             "unit that is compressed as one vector: tensor|bucket|model",
                             {"tensor", "bucket", "model"})),
      repeatable(text_option("min-elements", "N", "0",
                             "tensors with fewer elements are sent uncompressed")),
      repeatable(text_option("local-steps", "N", "1",
                             "number of gradients that a rank accumulates before an exchange")),
      repeatable(text_option("fragments", "P", "1",
                             "with --local-steps of at least P, exchange the model as P fragments "
                             "in turn, spread evenly over the local steps (Streaming DiLoCo)")),
      repeatable(text_option("fragment-delay", "N", "0",
                             "number of local steps whose compute overlaps a fragment's exchange")),
      repeatable(text_option("fragment-mix", "A", "0.5",
                             "with --fragment-delay, in a training: weight of a worker's own "
                             "parameters when the fragment is applied")),
      repeatable(text_option("outer", "SPEC", "none",
                             "outer optimiser applied to the aggregate: none, or diloco "
                             "(momentum=0.9,rate=0.7), usually with --local-steps",
                             {"none", "diloco"})),
      repeatable(text_option("epoch", "E", "0",
                             "training epoch of the steps, for compressors with a warm-up")),
  };
}

// Returns all distinct combinations of the values of the bucketing options, in the order given.
// @throws InputError with the option and the expected values
std::vector<Bucketing> bucketings_of(const Arguments& arguments) {
  std::vector<Bucketing> bucketings = {{}};
  const auto cross = [&](const std::string& option, const std::vector<std::string>& texts,
                         const std::function<void(const std::string&, Bucketing&)>& set) {
    check_alternatives("--" + option, bucketings.size(), texts.size());
    std::vector<Bucketing> crossed;
    for (const Bucketing& bucketing : bucketings)
      for (const std::string& text : texts) {
        crossed.push_back(bucketing);
        try {
          set(text, crossed.back());
        } catch (const InputError& error) {
          const std::string what = error.what();
          throw InputError(what.rfind("--", 0) == 0 ? what : "--" + option + ": " + what);
        }
      }
    bucketings = std::move(crossed);
  };
  const auto each = [&](const std::string& option,
                        const std::function<void(const std::string&, Bucketing&)>& set) {
    cross(option, alternatives(arguments.texts(option)), set);
  };
  each("granularity", [](const auto& text, Bucketing& bucketing) {
    bucketing.granularity = parse_granularity(text);
  });
  each("min-elements", [](const auto& text, Bucketing& bucketing) {
    bucketing.min_elements =
        static_cast<std::size_t>(number_in("min-elements", text, 0, 1e12, true));
  });
  each("overlap",
       [](const auto& text, Bucketing& bucketing) { bucketing.overlap = parse_overlap(text); });
  each("codec", [](const auto& text, Bucketing& bucketing) {
    if (text != "inline" && text != "thread")
      throw InputError(fmt::format("--codec {}: expected inline or thread", excerpt(text)));
    bucketing.codec_beside = text == "thread";
  });
  // --buckets has no alternatives by '|'. The option is repeated instead.
  cross("buckets", arguments.texts("buckets"), [](const auto& text, Bucketing& bucketing) {
    bucketing.limits = BucketLimits::parse(text);
  });
  each("local-steps", [](const auto& text, Bucketing& bucketing) {
    bucketing.local_steps =
        static_cast<std::uint64_t>(number_in("local-steps", text, 1, 1e6, true));
  });
  each("fragments", [](const auto& text, Bucketing& bucketing) {
    bucketing.fragments = static_cast<std::size_t>(number_in("fragments", text, 1, 1e6, true));
  });
  each("fragment-delay", [](const auto& text, Bucketing& bucketing) {
    bucketing.fragment_delay =
        static_cast<std::uint64_t>(number_in("fragment-delay", text, 0, 1e6, true));
  });
  each("fragment-mix", [](const auto& text, Bucketing& bucketing) {
    bucketing.fragment_mix = number_in("fragment-mix", text, 0, 1, false);
  });
  each("outer", [](const auto& text, Bucketing& bucketing) {
    if (text != "none") bucketing.outer = OuterOptions::parse(text);
  });
  each("epoch", [](const auto& text, Bucketing& bucketing) {
    bucketing.epoch = number_in("epoch", text, 0, 1e6, false);
  });
  std::vector<Bucketing> different;
  for (const Bucketing& bucketing : bucketings) add_once(different, normal(bucketing));
  return different;
}

OptionInfo time_scale_option() {
  return text_option("time-scale", "F", "1",
                     "time dilation factor: rates are divided by F, and delays, compute and codec "
                     "times are multiplied by F; reported times are divided by F again; 1|2|4 "
                     "measures each, auto chooses by cores, ranks and rates",
                     {"1", "auto"});
}

int workers_of(int hosts, int servers) {
  if (hosts <= servers)
    throw InputError(
        fmt::format("{} hosts with {} servers of the collective leave no worker", hosts, servers));
  return hosts - servers;
}

}  // namespace

OptionInfo sweep_trace_option() {
  return folder_option("trace", "DIR", "",
                       "trace of gradients to replay, or synthetic:model=NAME,... "
                       "(docs/synthetic.md)");
}

std::vector<OptionInfo> sweep_axis_options() {
  return {
      compressors_option(),
      plugin_option(),
      repeatable(text_option("link,l", "SPEC", "rate=10mbit|100mbit|1gbit",
                             "link of each host: rate=100mbit,delay=10ms,loss=0.1%, or a preset "
                             "such as lte; see `thinpipe list links`",
                             link_suggestions())),
      repeatable(text_option("schedule", "SPEC", "none",
                             "changes of the links over time, from a point's first step on: parts "
                             "such as 'outage:every=10s,lasts=1s' joined by `;`; the prefix of a "
                             "link's name ('host3:sine:...') restricts a part to that link; or a "
                             "file; see `thinpipe net play`")),
      repeatable(text_option("straggler", "SPEC", "none",
                             "hosts with longer or varying compute times: parts such as "
                             "'host3:compute=2' or 'hosts:jitter=0.2' joined by `;` "
                             "(docs/stragglers.md)")),
      topology_option(),
      text_option("ranks,n", "N", "4",
                  "number of ranks, each on an emulated host; 2|4|8 measures each"),
  };
}

std::vector<OptionInfo> sweep_step_options() {
  return {
      integer_option("steps", "N", "8", {1, 1e6}, "measured steps of each point"),
      integer_option("warmup", "N", "2", {0, 1e6}, "unmeasured steps before the measured ones"),
  };
}

std::vector<OptionInfo> sweep_replay_options() {
  OptionInfo collective = {.name = "collective",
                           .old_name = "pattern",
                           .value_name = "SPEC",
                           .type = Type::kText,
                           .default_value = "ring",
                           .help =
                               "collective that exchanges the payloads, from `thinpipe list "
                               "collectives`; ring|openmpi measures both",
                           .specs = collective_words(),
                           .repeatable = true};
  OptionInfo compute_scale = real_option("compute-scale", "X", "1", {0, 1000},
                                         "factor on the compute time; 0 removes the compute "
                                         "time");
  return joined({{collective},
                 bucketing_options(),
                 {compute_scale, time_scale_option(),
                  threads_option("each rank's encode and decode"), simd_option()}});
}

std::vector<OptionInfo> sweep_value_options() {
  return {
      choice_option("non-finite", "POLICY", "error", {"error", "zero"},
                    "NaN and infinity in a gradient fail the point (error) or become 0 (zero)"),
      integer_option("seed", "N", "1", {0, 9e15},
                     "random seed of the order of points and of compressors that sample; in a "
                     "training, also of weights, the order of data and augmentation"),
      choice_option("baseline", "NAME", kBothBaselines, {"none", "bf16", kBothBaselines},
                    "baseline for comparisons: fp32 (none), sums in 16 bits (bf16), or the faster "
                    "of the two (both)"),
      {.name = "no-baseline", .help = "do not measure the baselines"},
  };
}

std::vector<OptionGroup> sweep_groups() {
  return {
      {"Main options",
       {"trace", "model", "out", "compressor", "link", "ranks", "workers", "collective", "steps"}},
      {"Network", {"topology", "schedule", "straggler"}},
      {"Compressors and baselines", {"baseline", "no-baseline", "plugin", "non-finite", "device"}},
      {"Bucketing, overlap and gradient accumulation",
       {"overlap", "codec", "buckets", "granularity", "min-elements", "local-steps", "fragments",
        "fragment-delay", "fragment-mix", "outer"}},
      {"Training",
       {"width", "data", "batch", "optimiser", "lr-schedule", "clip", "local-clip", "exchange",
        "mask-momentum", "augment", "seeds", "target", "eval-every", "checkpoint-every", "capture",
        "capture-every"}},
      {"Prediction and simulation",
       {"engine", "records", "codec-times", "message-time", "cores", "json"}},
      {"Measurement",
       {"warmup", "repeats", "epoch", "compute-time", "compute", "compute-scale", "time-scale",
        "threads", "simd", "seed", "check-every", "timeout", "share-machine"}},
      {"Interruptions and shards", {"resume", "shard"}},
      {"Real machines",
       {"hosts", "agent", "mpi-iface", "shape", "shape-anyway", "shape-prefix", "lease"}},
  };
}

OptionInfo sweep_out_option() {
  return required(folder_option("out", "DIR", "", "folder for records.jsonl; created if missing"));
}

std::vector<OptionInfo> sweep_checking_options(const std::string& every) {
  return {
      integer_option("check-every", "N", every, {0, 1e6},
                     "check the aggregate against a reference in every N-th step, or in every N-th "
                     "exchange if there are steps without exchange; 0 never checks"),
      {.name = "timeout",
       .old_name = "patience",
       .value_name = "S",
       .type = Type::kReal,
       .default_value = "30",
       .help = "timeout of a step, in seconds (multiplied by a --time-scale above 1), on top of "
               "ten times the expected duration of an uncompressed step with the schedule's "
               "outages; a point with a slower step fails",
       .minimum = 0.1,
       .maximum = 1e6},
      {.name = "share-machine",
       .help = "accept points that were measured while another run was measuring on this machine"},
  };
}

OptionInfo sweep_device_option() {
  return choice_option("device", "NAME", kDeviceCpu, {kDeviceCpu, kDeviceCuda},
                       "device of the gradients and compressors; ranks are assigned to the "
                       "machine's GPUs (docs/gpu.md) round-robin");
}

OptionInfo sweep_resume_option() {
  return {.name = "resume", .help = "continue the records in OUT, skipping recorded points"};
}

void set_sweep_checks(const Arguments& arguments, SweepOptions& options) {
  options.check_every = static_cast<std::uint64_t>(arguments.integer("check-every"));
  options.timeout = arguments.real("timeout");
  options.share_machine = arguments.flag("share-machine");
  options.resume = arguments.flag("resume");
}

std::vector<OptionInfo> joined(std::vector<std::vector<OptionInfo>> lists) {
  std::vector<OptionInfo> all;
  for (std::vector<OptionInfo>& list : lists)
    std::move(list.begin(), list.end(), std::back_inserter(all));
  return all;
}

SweepOptions sweep_options_of(const Arguments& arguments, std::optional<HostsOptions> hosts,
                              int most_ranks, const char* ranks_option) {
  SweepOptions options;
  options.plugins = load_plugins(arguments);
  options.threads = threads_of(arguments);
  use_simd(arguments);
  options.simd = arguments.text("simd");
  options.baselines = baselines_of(arguments);
  options.compressors = compressors_of(arguments);
  options.links = links_of(arguments);
  options.schedules = schedules_of(arguments);
  options.stragglers = stragglers_of(arguments);
  options.topology = parse_topology(arguments.text("topology"));
  options.hosts = std::move(hosts);
  options.collectives = collectives_of(arguments);
  int servers = 0;
  for (const Spec& collective : options.collectives)
    servers = std::max(servers, servers_of(collective));
  const int given_hosts = options.hosts ? static_cast<int>(options.hosts->names.size())
                                        : options.topology.fixed_hosts();
  options.ranks = given_hosts > 0 && !arguments.given(ranks_option)
                      ? std::vector<int>{workers_of(given_hosts, servers)}
                      : count_alternatives({arguments.text(ranks_option)}, ranks_option,
                                           ranks_option, most_ranks);
  options.steps = static_cast<std::uint64_t>(arguments.integer("steps"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.compute_scale = arguments.real("compute-scale");
  options.time_scales = parse_time_scales(arguments.text("time-scale"));
  options.zero_non_finite = arguments.text("non-finite") == "zero";
  options.bucketings = bucketings_of(arguments);
  return options;
}

double parse_time_scale(const std::string& text) {
  const auto factor = parse_number<double>(text, kMinTimeScale, kMaxTimeScale);
  if (!factor)
    throw InputError(fmt::format("--time-scale: {} is not a number from {} to {}", in_quotes(text),
                                 kMinTimeScale, kMaxTimeScale));
  return *factor;
}

std::vector<double> parse_time_scales(const std::string& text) {
  std::vector<double> factors;
  for (const std::string& one : alternatives({text}))
    add_once(factors, one == "auto" ? kAutoTimeScale : parse_time_scale(one));
  return factors;
}

void check_schedules(const SweepOptions& options) {
  for (const Stragglers& stragglers : options.stragglers)
    for (const int ranks : options.ranks) stragglers.check(ranks);
  for (const ScheduleSpec& schedule : options.schedules)
    for (const int hosts : host_counts(options))
      for (const LinkSpec& link : options.links)
        scheduled_links(options.topology.plan(hosts, link), schedule);
}

OptionInfo model_option() {
  return choice_option("model,m", "NAME", "", trainable_models(), "model to train");
}

OptionInfo batch_option() {
  return integer_option("batch", "N", "", {1, 65536},
                        "mini-batch size of each worker; by default the model's");
}

OptionInfo data_option() {
  return file_option("data", "PATH", "",
                     "folder of MNIST or CIFAR-10 (binary), or a text file; by default generated "
                     "digits and images, and a text that is part of thinpipe");
}

}  // namespace thinpipe
