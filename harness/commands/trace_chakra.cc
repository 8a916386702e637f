// `thinpipe trace export --format chakra`: execution traces with a compressor's payload sizes and
// codec times.

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/registry.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/trace.h"
#include "harness/files/open_trace.h"
#include "harness/machine/machine.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"
#include "harness/predict/predictor.h"
#include "reports/record/reader.h"
#include "reports/text/phrases.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/bucketing.h"
#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/edit/chakra_export.h"

namespace thinpipe {
namespace {

// Returns sizes and times from the records of --codec-times, or measures them on the trace.
CodecProfile exported_profile(const Arguments& arguments, const SweepOptions& options,
                              const Trace& trace) {
  const CompressorRules& compressor = options.compressors.front();
  if (arguments.given("codec-times"))
    return recorded_codec(read_run_records(arguments.text("codec-times")), trace, compressor,
                          options.device);
  return Predictor(trace, options)
      .codec(compressor, options.bucketings.front(), options.collectives.front());
}

ChakraExport chakra_export_of(const CodecProfile& profile, const SweepOptions& options,
                              const Trace& trace, std::size_t ranks) {
  ChakraExport plan;
  for (const ProfiledBucket& bucket : profile.buckets) {
    ChakraBucket& exported = plan.buckets.emplace_back();
    exported.tensors = bucket.tensors;
    exported.encode = bucket.compress;
    exported.decode = bucket.decode + static_cast<double>(ranks) * bucket.decode_message;
    for (const ExchangeWork& exchange : bucket.exchanges) {
      exported.encode += exchange.copies;  // the exchange waits for the copies to the host
      exported.exchanges.push_back({.collective = exchange.operation == Exchange::kAllReduce
                                                      ? ChakraCollective::kAllReduce
                                                      : ChakraCollective::kAllGather,
                                    .bytes = exchange.bytes});
    }
  }
  plan.period = profile.period;
  plan.hold = profile.hold;
  plan.overlaps = options.bucketings.front().overlap == Overlap::kBucket;
  plan.codec_on_cpu = options.device == kDeviceCpu;
  plan.about = {{"source", std::string("thinpipe trace export")},
                {"trace", trace.identity()},
                {"model", trace.model()},
                {"compressor", profile.compressor},
                {"codec_times", profile.source}};
  return plan;
}

int export_execution_traces(const Arguments& arguments, const SweepOptions& options,
                            const Trace& trace, const SliceParts& parts) {
  const std::string& out = arguments.text("out");
  const CodecProfile profile = exported_profile(arguments, options, trace);
  export_chakra(trace, parts, chakra_export_of(profile, options, trace, parts.ranks.size()), out);
  write_text(fmt::format("{}: {}: {} of {}, {}; {}, codec times: {}\n", out,
                         counted(parts.ranks.size(), "chakra file"),
                         counted(parts.steps.size(), "step"), counted(parts.ranks.size(), "rank"),
                         counted(parts.tensors.size(), "tensor"), profile.compressor,
                         profile.source));
  return kExitGood;
}

}  // namespace

std::vector<OptionInfo> chakra_options() {
  OptionInfo compressor = compressor_option(false);
  compressor.default_value = "none";
  compressor.help = "with chakra: compressor of the payloads; see `thinpipe list`";
  return {
      compressor,
      plugin_option(),
      choice_option("overlap", "WHAT", "none", {"none", "bucket"},
                    "with chakra: encode all gradients after the backward pass (none), or each "
                    "bucket when its gradients are ready (bucket)"),
      text_option("buckets", "SPEC", "ddp",
                  "with --overlap bucket: bucket sizes and order, such as "
                  "first=1mb,rest=25mb,order=ready (or reverse); ddp is the default of PyTorch DDP",
                  {"ddp"}),
      file_option("codec-times", "RUN", "",
                  "with chakra: use codec times and payload sizes from a run's records (its "
                  "folder, or records.jsonl) instead of measuring them"),
      choice_option("device", "NAME", kDeviceCpu, {kDeviceCpu, kDeviceCuda},
                    "device whose points of --codec-times are used"),
      non_finite_option(),
  };
}

Action prepare_chakra_export(const Arguments& arguments, const std::shared_ptr<const Trace>& trace,
                             const SliceParts& parts) {
  require_protobuf("--format chakra");
  if (parts.tensors.size() < trace->tensors().size())
    throw InputError(
        "--tensors: an execution trace has all tensors; `thinpipe trace slice` makes a trace of "
        "some tensors");
  load_plugins(arguments);
  SweepOptions options;
  options.compressors = {CompressorRules::parse(arguments.text("compressor"))};
  for (const Spec& spec : options.compressors.front().specs()) check_spec(spec);
  warn_of_rules(options.compressors, *trace);
  options.ranks = {static_cast<int>(trace->ranks())};
  options.zero_non_finite = bad_values_of(arguments) == BadValues::kZero;
  options.device = arguments.text("device");
  Bucketing& bucketing = options.bucketings.front();
  bucketing.overlap = parse_overlap(arguments.text("overlap"));
  if (bucketing.overlap == Overlap::kBucket)
    bucketing.limits = BucketLimits::parse(arguments.text("buckets"));
  if (arguments.given("codec-times") && !bucketing.is_default())
    throw InputError(
        "--codec-times: records have no codec times per bucket; expected --overlap none");
  if (options.device != kDeviceCpu && !arguments.given("codec-times"))
    throw InputError("--device " + options.device +
                     ": expected --codec-times RUN, with points of a run on a GPU");
  check_collectives(options);
  return [&arguments, options, trace, parts] {
    return export_execution_traces(arguments, options, *trace, parts);
  };
}

}  // namespace thinpipe
