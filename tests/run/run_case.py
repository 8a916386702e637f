"""Shared by the tests of `thinpipe run`: a trace, an output folder, our processes.

Environment: THINPIPE and MAKE_TRACE are the programs. Standard library only.
"""
import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid

from measured import MeasuredByProcesses, main, timed  # noqa: F401  # for the tests

THINPIPE = os.environ["THINPIPE"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
# For tests to which the baseline does not matter, one baseline costs least.
RUN = ("run", "--baseline", "none")


def preloaded(*libraries):
    """The environment of a program that loads these libraries first."""
    # By name and folder: ld.so takes a space in LD_PRELOAD for the end of a path.
    return {"LD_PRELOAD": ":".join(map(os.path.basename, libraries)),
            "LD_LIBRARY_PATH": ":".join(map(os.path.dirname, libraries)),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


class RunCase(MeasuredByProcesses):
    """A trace, an output folder, and a mark in the environment by which our processes are known."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = "THINPIPE_TEST=" + uuid.uuid4().hex
        self.out = os.path.join(self.folder, "out")

    def trace(self, ranks=2, steps=3, elements=30000, compute=0.002):
        path = os.path.join(self.folder, "trace")
        subprocess.run([MAKE_TRACE, path] + [str(x) for x in (ranks, steps, elements, compute)],
                       check=True)
        return path

    def sweep(self, *more, trace=None, **options):
        """Returns the words of a run on two ranks: sweep(time_scale=2) has `--time-scale 2`,
        sweep(link=None) has no link."""
        options = {"ranks": 2, "link": "rate=100mbit", "warmup": 0, **options}
        words = [word for name, value in options.items() if value is not None
                 for word in ("--" + name.replace("_", "-"), str(value))]
        return (*RUN, "--trace", trace or self.trace(), "--out", self.out, *words, *more)

    def start(self, *arguments, **options):
        return self.start_command(THINPIPE, *arguments, **options)

    def start_command(self, *command, **options):
        # Runs with one folder for temporary files detect each other.
        environment = dict(os.environ, THINPIPE_TEST=self.mark.split("=")[1], TMPDIR=self.folder)
        environment.update(options.pop("environment", {}))
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.kill)  # where a test fails
        return process

    def count_points(self):
        """So far, of a run that may go on."""
        try:
            with open(os.path.join(self.out, "records.jsonl")) as file:
                return file.read().count('"record":"point"')
        except FileNotFoundError:
            return 0

    def has_a_point(self):
        return self.count_points() > 0

    def points(self):
        """By id, the later record counting."""
        return {r["id"]: r for r in self.records() if r["record"] == "point"}

    def ours(self, name=""):
        """Processes that carry our mark, with any name and any parent."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    marked = self.mark.encode() in file.read()
                with open(f"/proc/{pid}/comm") as file:
                    if marked and name in file.read():
                        found.append(int(pid))
            except OSError:
                pass  # ended meanwhile, or a zombie
        return found

    def bytes_sent(self):
        """By the interface of one of the ranks; 0 while no rank runs."""
        for rank in self.ours("thinpipe-worker"):
            with contextlib.suppress(OSError), open(f"/proc/{rank}/net/dev") as file:
                for line in file:
                    if line.strip().startswith("thin0:"):
                        return int(line.split()[9])
        return 0

    def wait_until_sent(self, size):
        """Waits until ranks run and one of them has sent so many bytes."""
        self.wait_for(self.bytes_sent, "the ranks")
        before = self.bytes_sent()  # by the calibration
        self.wait_for(lambda: self.bytes_sent() > before + size, "the point's steps")

    def run_inside(self, pid, *command):
        """Runs a command in the network namespace of a process of ours."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        subprocess.run(["nsenter", "--target", str(pid), *user, "--net", *command], check=True)

    def assert_nothing_left(self):
        self.wait_for(lambda: not self.ours(), "the end of all processes")
