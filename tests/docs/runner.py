"""Runs the commands of one page in a folder of their own, in order, in one shell."""
import os
import re
import shutil
import signal
import subprocess
import uuid

from pages import ROOT

# Messages of a measurement on a busy machine: invalid points, links without a verdict.
BUSY = re.compile(r"(?m)^.*(\binvalid\b|not trusted|too busy)")


def make_trace(binaries, folder):
    """The trace of `<!-- with: trace -->`: LeNet-5, two workers, steps 150 to 155 of a short training."""
    result = subprocess.run([binaries / "thinpipe", "capture", "--model", "lenet5", "--workers", "2",
                             "--batch", "8", "--from", "150", "--record", "6", "--steps", "156",
                             "--out", folder], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"thinpipe capture exits with {result.returncode}\n{result.stderr}")


def prepare(folder, binaries):
    """A folder that looks like a checkout in which ./check has built, without being it."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "out", ".git"):
            (folder / entry.name).symlink_to(entry)
    release = folder / "build" / "release"  # without the files that make it a build tree
    release.mkdir(parents=True)
    for entry in binaries.parent.iterdir():
        if entry.name in ("bin", "lib", "plugins", "tests", "generated", "cmake_install.cmake"):
            (release / entry.name).symlink_to(entry)


def environment(binaries, folder):
    kept = {name: value for name, value in os.environ.items()
            if name in ("HOME", "USER", "LANG", "OMPI_ALLOW_RUN_AS_ROOT")}
    return kept | {"PATH": f"{binaries}:/usr/bin:/bin:{os.environ.get('PATH', '')}",
                   "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": str(folder / ".tmp"),
                   "PYTHONDONTWRITEBYTECODE": "1"}


class Result:
    def __init__(self, output, code):
        self.output, self.code = output, code
        self.spoilt = False  # by a busy machine: its output is not compared

    @property
    def lines(self):
        return self.output.rstrip("\n").split("\n") if self.output.strip() else []

    def good(self, wanted=0):
        return self.code == wanted

    def too_busy(self):
        """The reason for an invalid measurement, if it ended with an error; else ''."""
        line = BUSY.search(self.output)
        return self.output[line.start():].split("\n")[0] if line and self.code in (3, 4) else ""


def script(steps, mark):
    """`steps`: pairs of a command and whether it is shown. Hidden ones print, too."""
    lines = ["exec 2>&1 </dev/null", "__status=0"]
    for number, command in enumerate(steps):
        lines += [f"printf '%s begin {number}\\n' {mark}", "(exit $__status)", command, "__status=$?",
                  f"printf '\\n%s end {number} %d\\n' {mark} $__status"]
    return "\n".join(lines) + "\n"


def run_page(steps, folder, binaries, timeout):
    """Results of the commands in order; fewer of them where the time ran out, with the last output."""
    mark = uuid.uuid4().hex
    (folder / ".tmp").mkdir(exist_ok=True)
    file = folder / ".tmp" / "page.sh"
    file.write_text(script(steps, mark), encoding="utf-8")
    process = subprocess.Popen(["bash", str(file)], cwd=folder, env=environment(binaries, folder),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            printed, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
    text = printed.decode("utf-8", "replace")
    results = []
    for number in range(len(steps)):
        found = re.search(rf"{mark} begin {number}\n(.*?)\n?{mark} end {number} (\d+)\n", text, re.DOTALL)
        if not found:
            break
        results.append(Result(found[1], int(found[2])))
    rest = text.split(f"{mark} begin {len(results)}\n")[-1] if len(results) < len(steps) else ""
    return results, rest


def installed(names):
    """Whether programs are installed, and Python's modules, written `python:torch`."""
    def there(name):
        if name.startswith("python:"):
            return subprocess.run(["/usr/bin/python3", "-c", f"import {name[7:]}"],
                                  capture_output=True, check=False).returncode == 0
        return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None
    return all(map(there, names.split()))


def words_of_sources():
    """All text of thinpipe's sources: the words that its programs can print."""
    folders = ("base", "compressors", "netem", "workloads", "harness", "reports", "examples", "tests/cost")
    return "\n".join(path.read_text(encoding="utf-8") for folder in folders
                     for path in sorted((ROOT / folder).rglob("*"))
                     if path.is_file() and path.suffix in (".cc", ".h", ".c", ".py", ".json"))
