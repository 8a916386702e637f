#include "tests/cost/bare_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"

namespace thinpipe {

namespace {

constexpr int kPatience = 60'000;  // ms

// Open at both ends, so that neither waits for the other to open it.
int make_fifo(const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) throw SystemError("mkfifo " + path);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) throw SystemError("open " + path);
  return descriptor;
}

}  // namespace

BareProgram::BareProgram(Machines& machines, const std::string& program, const std::string& scratch,
                         int ranks, const std::vector<std::string>& arguments)
    : output_(scratch + "/bare_ring.out") {
  const std::string gate = scratch + "/bare_ring.gate";
  for (int rank = 0; rank < ranks; ++rank)
    gates_.push_back(make_fifo(gate + "." + std::to_string(rank)));
  done_ = make_fifo(gate + ".done");
  // What Launch starts thinpipe-worker with.
  std::vector<std::string> command = {
      "mpirun", "-np", std::to_string(ranks), "--allow-run-as-root", "--bind-to", "none"};
  for (const std::string& word : machines.board(ranks).mpirun) command.push_back(word);
  for (const char* word :
       {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"})
    command.push_back(word);
  command.push_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back(gate);
  start(std::move(command));
  await_done();
}

BareProgram::~BareProgram() {
  if (child_ > 0) {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  for (const int gate : gates_) close(gate);
  close(done_);
}

void BareProgram::start(std::vector<std::string> command) {
  child_ = fork();
  if (child_ < 0) throw SystemError("fork");
  if (child_ > 0) return;
  if (std::freopen(output_.c_str(), "w", stdout) == nullptr ||
      std::freopen("/dev/null", "r", stdin) == nullptr)
    _exit(126);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

void BareProgram::await_done() {
  pollfd done = {done_, POLLIN, 0};
  char byte = 0;
  for (int waited = 0; waited < kPatience; waited += 100) {
    if (poll(&done, 1, 100) > 0 && read(done_, &byte, 1) == 1) return;
    if (waitpid(child_, nullptr, WNOHANG) == child_) {
      child_ = -1;
      throw RunError("bare_ring ended before its time");
    }
  }
  throw RunError("bare_ring says nothing");
}

void BareProgram::run_block() {
  for (const int gate : gates_)
    if (write(gate, "", 1) != 1) throw SystemError("write to bare_ring");
  await_done();
}

std::vector<BareStep> BareProgram::finish() {
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  if (status != 0) throw RunError("bare_ring failed, or its sum was wrong");
  std::ifstream file(output_);
  std::string word;
  std::getline(file, word);
  if (word != "sum ok") throw RunError("bare_ring did not say that its sum was right: " + word);
  std::vector<BareStep> steps;
  for (BareStep step; file >> step.took >> step.since_end;) steps.push_back(step);
  return steps;
}

}  // namespace thinpipe
