#include "harness/paper/paper.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/output_file.h"
#include "harness/machine/programs.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Runs the program, which must leave `made`; moves what is in it to `file`.
void make_by(const fs::path& program, const std::vector<std::string>& arguments,
             const fs::path& made, const fs::path& file) {
  const fs::path log = made.parent_path() / "log";
  const FileDescriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (output.get() < 0) throw SystemError("make " + log.string());
  const int status =
      wait_for_process(start_process(program, arguments, -1, output.get(), output.get()));
  const std::string bytes = contents_of(made);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes.empty()) {
    const std::string said = contents_of(log);
    throw RunError(program.string() + " did not make " + file.string() +
                   (said.empty() ? "" : "; it said: " + said.substr(0, said.find('\n'))));
  }
  write_output(file, bytes);
}

}  // namespace

std::optional<fs::path> find_chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome"})
    if (const auto path = find_in_path(name)) return path;
  return std::nullopt;
}

void write_figure(const std::string& svg, const std::string& format, const fs::path& scratch,
                  const fs::path& file) {
  if (format == "svg") {
    write_output(file, svg);
    return;
  }
  const auto program = find_in_path("rsvg-convert");
  if (!program)
    throw RunError("no rsvg-convert in PATH, which makes " + format +
                   " of figures; install it (Debian: librsvg2-bin) or write --format svg");
  write_output(scratch / "figure.svg", svg);
  const fs::path made = scratch / "made";
  std::vector<std::string> words = {"--format", format, "--output", made.string()};
  if (format == "png") words.insert(words.end(), {"--zoom", "3"});
  words.push_back((scratch / "figure.svg").string());
  make_by(*program, words, made, file);
}

void write_page_pdf(const std::string& html, const fs::path& scratch, const fs::path& file) {
  const auto program = find_chromium();
  if (!program)
    throw RunError(
        "no Chromium in PATH, which prints pages; install it (Debian: chromium) or write --format "
        "html and print it in a browser");
  write_output(scratch / "page.html", html);
  const fs::path made = scratch / "made.pdf";
  std::vector<std::string> words = {"--headless",
                                    "--disable-gpu",
                                    "--no-first-run",
                                    "--disable-sync",
                                    "--disable-background-networking",
                                    "--disable-component-update",
                                    "--disable-quic",
                                    "--disable-dev-shm-usage",
                                    "--host-resolver-rules=MAP * ~NOTFOUND",
                                    "--user-data-dir=" + (scratch / "profile").string(),
                                    "--no-pdf-header-footer",
                                    "--print-to-pdf-no-header",
                                    "--print-to-pdf=" + made.string()};
  if (::geteuid() == 0) words.push_back("--no-sandbox");  // it does not start as root with one
  words.push_back("file://" + (scratch / "page.html").string());
  make_by(*program, words, made, file);
}

}  // namespace thinpipe
