#include "harness/doctor/software.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "harness/machine/programs.h"
#include "harness/paper/paper.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr const char* kGroup = "programs";

// Looks for one of thinpipe's own programs.
Finding own_program(const char* label, const char* name, State when_absent, const char* cost) {
  try {
    return {.group = kGroup, .name = label, .found = find_program(name).string()};
  } catch (const RunError& error) {
    return {
        .group = kGroup, .name = label, .state = when_absent, .found = error.what(), .cost = cost};
  }
}

Finding tool(const char* label, const char* name, const char* version_option, const char* cost,
             const char* remedy) {
  const std::optional<fs::path> path = find_in_path(name);
  const std::optional<std::string> line = path ? first_line(*path, version_option) : std::nullopt;
  if (line) return {.group = kGroup, .name = label, .found = *line};
  return {
      .group = kGroup,
      .name = label,
      .state = State::kAbsent,
      .found = path ? path->string() + " does not start" : std::string("no ") + name + " in PATH",
      .cost = cost,
      .remedy = remedy};
}

Finding cuda() {
  std::error_code error;
  const bool toolkit = find_in_path("nvcc") || fs::exists("/usr/local/cuda/bin/nvcc", error);
  Finding finding{.group = kGroup,
                  .name = "CUDA",
                  .found = std::string("toolkit: ") + (toolkit ? "yes" : "no") +
                           "; this build: " + (THINPIPE_HAS_CUDA ? "with toolkit" : "without")};
  if (!THINPIPE_HAS_CUDA) {
    finding.state = State::kAbsent;
    finding.cost = "compressors for GPUs are not in this build; nothing else is missing";
  }
  return finding;
}

// Adds two findings: the GPU, and whether MPI is CUDA-aware.
void add_gpu_findings(std::vector<Finding>& findings) {
  const GpuStatus gpu = probe_gpu();
  std::ifstream version("/sys/module/nvidia/version");
  std::string driver;
  version >> driver;
  findings.push_back(gpu_finding(gpu, THINPIPE_HAS_CUDA, driver));
  const std::optional<fs::path> info = find_in_path("ompi_info");
  findings.push_back(gpu_mpi_finding(
      info ? output_of(*info, {"--parsable", "--all"}) : std::nullopt, gpu.available));
}

// Does not start Chromium, because printing its version takes seconds.
Finding chromium() {
  const std::optional<fs::path> path = find_chromium();
  if (path) return {.group = kGroup, .name = "Chromium", .found = path->string()};
  return {.group = kGroup,
          .name = "Chromium",
          .state = State::kAbsent,
          .found = "no chromium in PATH",
          .cost = "`report --format pdf` does not work; a browser can print the HTML page",
          .remedy = "install Chromium (Debian: chromium)"};
}

}  // namespace

Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver) {
  Finding finding{.group = kGroup, .name = "GPU", .found = gpu.detail};
  if (gpu.available) {
    if (!driver.empty()) finding.found += "; driver " + driver;
    return finding;
  }
  finding.state = State::kAbsent;
  finding.cost =
      "`bench`, `run` and `train` with --device cuda do not work; nothing else is affected";
  finding.remedy = built ? "use an NVIDIA GPU of compute capability 8.0 or higher, with its driver"
                         : "build on a machine with the CUDA Toolkit (12 or newer)";
  return finding;
}

Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu) {
  // A read-only parameter of the library: a property of its build.
  const bool knows = info && info->find("built_with_cuda_support:value:true") != std::string::npos;
  Finding finding{.group = kGroup,
                  .name = "MPI with CUDA",
                  .found = knows  ? "yes: Open MPI was built with CUDA; the collective openmpi "
                                    "passes device pointers to it"
                           : info ? "no: Open MPI was built without CUDA"
                                  : "no working ompi_info in PATH"};
  if (knows) return finding;
  finding.state = State::kAbsent;
  finding.cost =
      "`run --device cuda` with the collective openmpi copies payloads through host memory, as "
      "the other collectives do; nothing else changes";
  if (has_gpu)
    finding.remedy = "build Open MPI with --with-cuda, or use Open MPI over UCX with CUDA";
  return finding;
}

std::optional<std::string> output_of(const fs::path& program,
                                     const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  pid_t child = 0;
  try {
    child = start_process(program, arguments, -1, writing.get(), writing.get());
  } catch (const SystemError&) {
    return std::nullopt;
  }
  writing.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(reading.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

std::optional<std::string> first_line(const fs::path& program, const std::string& argument) {
  std::optional<std::string> text = output_of(program, {argument});
  if (text) text->resize(std::min(text->find('\n'), text->size()));
  if (!text || text->empty()) return std::nullopt;
  return text;
}

Finding mpi_finding(const std::optional<std::string>& version_line) {
  Finding finding{.group = kGroup, .name = "MPI"};
  if (!version_line) {
    finding.state = State::kFatal;
    finding.found = "no working mpirun in PATH";
    finding.cost = "ranks cannot be launched: `run` does not work";
    finding.remedy = "install Open MPI (Debian: openmpi-bin)";
    return finding;
  }
  finding.found = *version_line;
  if (version_line->find("Open MPI") == std::string::npos) {
    finding.state = State::kFatal;
    finding.cost = "thinpipe places ranks by options that only Open MPI has";
    finding.remedy = "put Open MPI's mpirun first in PATH (Debian: openmpi-bin)";
  } else if (version_line->find("Open MPI) 4.") == std::string::npos) {
    finding.state = State::kNote;
    finding.cost = "thinpipe is tested with Open MPI 4.1; other versions may have other options";
  }
  return finding;
}

std::vector<Finding> software_findings() {
  const std::optional<fs::path> mpirun = find_in_path("mpirun");
  std::vector<Finding> findings = {
      mpi_finding(mpirun ? first_line(*mpirun, "--version") : std::nullopt),
      own_program("worker", "thinpipe-worker", State::kFatal, "`run` does not work"),
      own_program("enter", "thinpipe-enter", State::kFatal, "`run` does not work"),
      own_program("capture", "thinpipe-capture", State::kAbsent,
                  "`capture` cannot train a model; imported and synthetic traces work"),
      tool("gnuplot", "gnuplot", "--version",
           "figures cannot be drawn: only `report --format md` works",
           "install gnuplot (Debian: gnuplot-nox)"),
      tool("rsvg-convert", "rsvg-convert", "--version",
           "figures are SVG only: `report --figure` cannot write PDF or PNG",
           "install rsvg-convert (Debian: librsvg2-bin)"),
      chromium(),
      cuda()};
  add_gpu_findings(findings);
  return findings;
}

}  // namespace thinpipe
