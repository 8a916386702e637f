// Several traces as one.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/trace/edit/assembly.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

[[noreturn]] void differ(const Trace& trace, const Trace& first, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} in {}", trace.folder().string(), what, first.folder().string()));
}

void check_same_tensors(const Trace& trace, const Trace& first) {
  const auto& a = trace.tensors();
  const auto& b = first.tensors();
  if (a.size() != b.size()) {
    differ(trace, first, fmt::format("{} tensors, but {}", a.size(), b.size()));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name == b[i].name && a[i].shape == b[i].shape) continue;
    differ(trace, first,
           fmt::format("tensor {} is '{}' [{}], but '{}' [{}]", i, printable(a[i].name),
                       fmt::join(a[i].shape, ", "), printable(b[i].name),
                       fmt::join(b[i].shape, ", ")));
  }
}

void check_same_model(const Trace& trace, const Trace& first) {
  const auto same = [&](const char* what, const std::string& found, const std::string& expected) {
    if (found == expected) return;
    differ(trace, first,
           fmt::format("{} is '{}', but '{}'", what, printable(found), printable(expected)));
  };
  same("model", trace.model(), first.model());
  same("origin", trace.metadata()["origin"], first.metadata()["origin"]);
  same("dtype", gradient_type_name(trace.gradient_type()),
       gradient_type_name(first.gradient_type()));
  check_same_tensors(trace, first);
  const auto squares = [](const Trace& of) {
    return of.squares(0, 0, 0).empty()     ? "none"
           : of.squares_of_micro_batches() ? "of micro-batches"
                                           : "of samples";
  };
  same("second moments", squares(trace), squares(first));
}

std::vector<std::uint64_t> steps_of(const Trace& trace) {
  std::vector<std::uint64_t> steps;
  for (std::size_t i = 0; i < trace.steps(); ++i) steps.push_back(trace.training_step(i));
  return steps;
}

void add_ranks(std::span<const Trace> traces, Assembly& assembly) {
  const auto expected = steps_of(traces.front());
  for (const Trace& trace : traces) {
    const auto found = steps_of(trace);
    if (found == expected) continue;
    std::vector<std::uint64_t> only;
    std::set_symmetric_difference(found.begin(), found.end(), expected.begin(), expected.end(),
                                  std::back_inserter(only));
    differ(trace, traces.front(),
           fmt::format("step {} is in one of them alone (to merge ranks, all must have the same "
                       "steps): here {} steps, but {}",
                       only.front(), found.size(), expected.size()));
  }
  for (std::size_t step = 0; step < expected.size(); ++step) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = expected[step];
    for (const Trace& trace : traces) {
      for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
        added.workers.push_back({&trace, step, rank});
      }
    }
  }
}

void add_steps(std::span<const Trace> traces, Assembly& assembly) {
  std::map<std::uint64_t, WorkerOf> places;
  for (const Trace& trace : traces) {
    if (trace.ranks() != traces.front().ranks()) {
      differ(trace, traces.front(),
             fmt::format("{} ranks, but {} (to merge steps, all must have as many)", trace.ranks(),
                         traces.front().ranks()));
    }
    for (std::size_t step = 0; step < trace.steps(); ++step) {
      const auto [place, fresh] =
          places.try_emplace(trace.training_step(step), WorkerOf{&trace, step, 0});
      if (fresh) continue;
      differ(trace, *place->second.trace,
             fmt::format("step {} is here, and", trace.training_step(step)));
    }
  }
  for (const auto& [training_step, worker] : places) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = training_step;
    for (std::size_t rank = 0; rank < worker.trace->ranks(); ++rank) {
      added.workers.push_back({worker.trace, worker.step, rank});
    }
  }
}

}  // namespace

MergeBy merge_traces(std::span<const Trace> traces, MergeBy by, const std::filesystem::path& out) {
  if (traces.size() < 2) throw InputError("merge: expected at least two traces");
  const Trace& first = traces.front();
  Assembly assembly;
  assembly.like = &first;
  for (std::size_t i = 0; i < first.tensors().size(); ++i) assembly.tensors.push_back(i);
  nlohmann::json sources = nlohmann::json::array();
  bool same_steps = true;
  for (const Trace& trace : traces) {
    check_same_model(trace, first);
    same_steps = same_steps && steps_of(trace) == steps_of(first);
    assembly.complete = assembly.complete && trace.complete();
    for (const std::string& reason : trace.missing()) assembly.missing.push_back(reason);
    sources.push_back(
        {{"identity", trace.identity()},
         {"ranks", trace.ranks()},
         {"steps", trace.steps()},
         {"provenance", trace.metadata().value("provenance", nlohmann::json::object())}});
  }
  if (by == MergeBy::kAuto) by = same_steps ? MergeBy::kRanks : MergeBy::kSteps;
  if (by == MergeBy::kRanks) {
    add_ranks(traces, assembly);
  } else {
    add_steps(traces, assembly);
  }
  assembly.provenance = {{"program", "thinpipe trace merge"},
                         {"by", by == MergeBy::kRanks ? "ranks" : "steps"},
                         {"of", sources}};
  write_assembly(assembly, out);
  return by;
}

}  // namespace thinpipe
