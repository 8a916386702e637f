// `thinpipe doctor`: checks the machine for everything that thinpipe needs.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "harness/commands/verbs.h"
#include "harness/doctor/findings.h"
#include "harness/machine/machine.h"
#include "harness/machine/programs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"

namespace thinpipe {
namespace {

int doctor(const Arguments& arguments) {
  const KernelFeatures features = probe_kernel();
  std::vector<Finding> findings = kernel_findings(features);
  for (Finding& finding : software_findings()) findings.push_back(std::move(finding));
  std::vector<std::string> guests;
  if (const auto uml = find_in_path("linux.uml"))
    guests.push_back("user-mode Linux " + first_line(*uml, "--version").value_or(""));
  if (find_in_path("qemu-system-x86_64")) guests.push_back("QEMU");
  findings.push_back(netem_tests_finding(features.netem, guests));
  for (Finding& finding : machine_findings(read_machine(std::filesystem::current_path())))
    findings.push_back(std::move(finding));
  for (Finding& finding : card_findings()) findings.push_back(std::move(finding));
  arguments.flag("json") ? write_stdout(to_json(findings)) : write_text(to_text(findings));
  return can_run(findings) ? kExitGood : kExitFailed;
}

Action prepare_doctor(const Arguments& arguments) {
  return [&] { return doctor(arguments); };
}

}  // namespace

Verb doctor_verb() {
  return {.name = "doctor",
          .summary = "Check this machine, and show the impact of missing parts",
          .description =
              "Tests the kernel's namespaces, interfaces and queueing disciplines by creating them "
              "in a temporary sandbox. Then looks for required programs and optional components, "
              "and for sources of timing noise. For everything missing, prints the impact and a "
              "remedy.\n\n"
              "Exits with 0 if `thinpipe run` can work on this machine, else with 4.",
          .options = {{.name = "json", .help = "print JSON for programs"}},
          .examples = {{"Check a machine before the first run", "thinpipe doctor"}},
          .prepare = prepare_doctor};
}

}  // namespace thinpipe
