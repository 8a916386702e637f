#!/usr/bin/env python3
"""`thinpipe net torchrun`: a job of several ranks, one on each emulated host. Standard library only, but
for the job of PyTorch."""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

THINPIPE = os.environ["THINPIPE"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
# The Python that has torch, if any.
PYTHONS = [python for python in ("/usr/bin/python3", sys.executable) if os.path.exists(python)]

# Every rank but 0 sends bytes to rank 0, which answers when it has all of them.
SEND = """
import os, socket, sys, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
begin = time.monotonic()
if rank == 0:
    with socket.create_server(address) as door:
        for _ in range(world - 1):
            other, _ = door.accept()
            count = 0
            while part := other.recv(1 << 16):
                count += len(part)
            print("received", count, time.monotonic() - begin)
else:
    while True:
        try:
            other = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    with other:
        other.sendall(bytes(int(sys.argv[1])))
    print("sent from", os.environ["THINPIPE_HOST"], os.environ["LOCAL_RANK"],
          os.environ["LOCAL_WORLD_SIZE"], os.environ["GLOO_SOCKET_IFNAME"])
    sys.stderr.write("an unfinished line")
"""

# Ten steps of 20 ms in which every rank reports a payload.
STEPS = """
import json, os, sys, time
with open(os.path.join(os.environ["THINPIPE_STEPS"], os.environ["RANK"]), "w") as report:
    report.write(json.dumps({"compressor": "topk:ratio=0.01", "collective": "allgather"}) + "\\n")
    for _ in range(10):
        time.sleep(0.02)
        report.write(json.dumps({"step_time": 0.02, "payload_bytes": 800,
                                 **json.loads(sys.argv[1])}) + "\\n")
"""

FAIL = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(3)
time.sleep(600)
"""

HANG = """
import os, time
if os.environ["RANK"] != "0":
    time.sleep(600)
"""


def run(*words, **options):
    return subprocess.run([THINPIPE, "net", "torchrun", *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=180, check=False, **options)


def python_with_torch():
    for python in PYTHONS:
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    return None


class Torchrun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, text):
        path = self.folder / "a script.py"
        path.write_text(text, encoding="utf-8")
        return path

    def test_ranks_have_torchruns_environment_and_their_links(self):
        done = run("--ranks", 3, "--link", "rate=8mbit", "--", self.script(SEND), 500000)
        self.assertEqual(done.returncode, 0, done.stderr)
        received = re.findall(r"(?m)^\[0\] received 500000 ([\d.]+)$", done.stdout)
        self.assertEqual(len(received), 2, done.stdout)
        # Both senders share rank 0's downlink: 1 MB at 8 Mbit/s is 1 s, less the bucket.
        self.assertGreater(float(received[-1]), 0.95)
        for rank in (1, 2):
            self.assertIn(f"[{rank}] sent from host{rank} 0 1 thin0\n", done.stdout)
            self.assertIn(f"[{rank}] an unfinished line\n", done.stdout)
        self.assertRegex(done.stderr, r"host1 +sent +\d+ kB, received")
        self.assertIn("Busiest: downlink of host0", done.stderr)

    def test_a_failing_rank_ends_the_others(self):
        begin = time.monotonic()
        done = run("--ranks", 3, "-q", "--", self.script(FAIL))
        self.assertEqual(done.returncode, 3)
        self.assertIn("rank 1 ended with exit code 3; ending the others", done.stderr)
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_rank_that_does_not_end(self):
        begin = time.monotonic()
        _, point, told = self.record("--no-calibration", "--ranks", 3, "--end-timeout", 1, "--",
                                     self.script(HANG), code=4)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("ranks 1, 2 had not ended 1 s after rank 0 ended with exit code 0", told)
        self.assertIn("--end-timeout", told)
        self.assertEqual((point["status"], point["reasons"]),
                         ("failed", ["the job ended with exit code 4"]))

    def test_ranks_may_end_one_after_the_other(self):
        script = self.script("import os, time; time.sleep(0.5 * int(os.environ['RANK']))")
        for timeout in (0, 20):
            done = run("-q", "--no-calibration", "--end-timeout", timeout, "--", script)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_stop_ends_the_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            mark = f"{800 + number}.{os.getpid()}"  # seconds, by which the ranks are found
            with self.start_ranks(mark) as process:
                self.assertRegex(process.stdout.readline(), r"^\[[01]\] ready$")
                process.send_signal(number)
                process.stdout.read()
                self.assertEqual(process.wait(30), 128 + number)
            self.assert_gone(mark)

    def test_a_kill_leaves_nothing(self):
        mark = f"777.{os.getpid()}"
        with self.start_ranks(mark) as process:
            process.stdout.readline()
            process.kill()
            process.stdout.read()
        self.assert_gone(mark)

    def start_ranks(self, seconds):
        return subprocess.Popen([THINPIPE, "net", "torchrun", "-q", "--", "sh", "-c",
                                 f"echo ready; exec sleep {seconds}"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)

    def assert_gone(self, mark):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            left = subprocess.run(["pgrep", "-fx", f"sleep {mark}"], capture_output=True, text=True,
                                  check=False).stdout
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"left behind: {left}")

    def test_what_cannot_be(self):
        for words, code, text in [
                (["--", "no-such-program"], 2, "run 'no-such-program' on host0: No such file"),
                (["--python", "no-such-python", "--", "x.py"], 2, "run 'no-such-python'"),
                (["--port", "70000", "--", "x.py"], 2, "port"),
                (["--link", "rate=fast", "--", "x.py"], 2, "rate"),
                ([], 2, "SCRIPT is missing")]:
            done = run(*words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
        done = run("-q", "--", self.folder / "absent.py")
        self.assertEqual(done.returncode, 2)  # Python's own code
        self.assertIn("absent.py", done.stdout)

    def record(self, *words, code=0):
        """Runs a job with a record, and returns its header, its point and the command's messages."""
        done = run("-o", self.folder / "jobs", *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = (self.folder / "jobs" / "records.jsonl").read_text(encoding="utf-8").splitlines()
        header, point = map(json.loads, lines[-2:])
        self.assertEqual((header["record"], point["record"]), ("header", "point"))
        return header, point, done.stderr

    def test_records(self):
        job = ["--link", "rate=20mbit", "--", self.script(STEPS)]
        header, point, told = self.record(*job, "{}")
        self.assertEqual(header["kind"], "job")
        self.assertEqual(header["settings"]["program"][1:], ["{}"])
        self.assertIn(header["calibration"]["links"][0]["verdict"], ("holds", "off"))  # off: busy
        self.assertNotIn("THINPIPE_STEPS", header["fingerprint"]["environment"])
        self.assertEqual(point["axes"]["compressor"], "topk:ratio=0.01")
        self.assertEqual((point["axes"]["rate"], point["axes"]["ranks"]), (20e6, 2))
        self.assertEqual(point["metrics"]["step_time"]["samples"], [0.02] * 8)  # without warm-up
        self.assertEqual(point["metrics"]["payload_bytes"]["samples"], [800] * 8)
        self.assertGreater(point["metrics"]["job_time"]["samples"][0], 0.2)
        self.assertEqual([host["host"] for host in point["hosts"]], ["host0", "host1"])
        self.assertIn("Step time: 20 ms (median of 8 steps after 2 of warm-up).", told)
        self.assertIn("The measurement is " + ("valid" if point["status"] == "ok" else "invalid"), told)

        # A repeat, another compressor, and a report that compares them.
        again = self.record(*job, "{}")[1]
        self.assertEqual(again["id"], point["id"])
        other = self.record("-c", "none", *job, '{"step_time": 0.04}')[1]
        self.assertEqual(other["axes"]["method"], "none")
        report = self.thinpipe("report", "jobs", "--format", "md", "-o", "-")
        if {point["status"], again["status"], other["status"]} == {"ok"}:  # else it is not drawn
            self.assertRegex(report, r"topk.*\b2×")
            self.assertIn("16 / 2", report)  # steps and repeats
            self.assertIn("All 3 points passed their link and clock checks.", report)
            self.assertIn("topk", self.thinpipe("report", "jobs", "--format", "text"))
            gate = self.thinpipe("gate", "--baseline", "jobs", "--measured", "jobs", "--times", "none")
            self.assertRegex(gate, r"^Of \d+ metrics: \d+ the same\.\n$")
        self.assertIn("topk", self.thinpipe("export", "jobs"))

    def test_a_record_without_calibration(self):
        header, point, told = self.record("--no-calibration", "--link", "rate=1mbit", "--",
                                          self.script(STEPS), "{}")
        link, = header["calibration"]["links"]
        self.assertEqual((link["verdict"], link["reason"], link["ratio"]),
                         ("unmeasured", "skipped by --no-calibration", None))
        self.assertIsNone(point["fidelity"]["goodput_ratio"])
        self.assertNotIn("calibrat", " ".join(point["reasons"]))
        self.assertIn("not measured: skipped by --no-calibration", " ".join(told.split()))

    def thinpipe(self, *words):
        done = subprocess.run([THINPIPE, *words], capture_output=True, text=True, cwd=self.folder,
                              timeout=180, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_records_of_what_went_wrong(self):
        _, point, _ = self.record("--", self.script(FAIL), code=3)
        self.assertEqual((point["status"], point["reasons"]),
                         ("failed", ["the job ended with exit code 3"]))
        _, point, told = self.record("--", self.script(STEPS), '{"speed": 1}')
        self.assertEqual(point["status"], "invalid")
        self.assertIn("$THINPIPE_STEPS/0 line 2: speed: unknown", " ".join(told.split()))
        refused = run("-o", self.folder / "jobs", "--link", "unthrottled", "--", "true")
        self.assertEqual((refused.returncode, "--out needs a link with a rate" in refused.stderr),
                         (2, True), refused.stderr)
        self.thinpipe("quality", "--trace", "synthetic:model=lenet5,workers=1,steps=1", "-c", "topk",
                      "--out", "quality")
        refused = run("-o", self.folder / "quality", "--", "true")
        self.assertEqual((refused.returncode, "records of 'quality'" in refused.stderr), (2, True),
                         refused.stderr)

    def test_a_job_with_compressed_gradients(self):
        python = python_with_torch()
        if python is None or "THINPIPE_LIBRARY" not in os.environ:
            self.skipTest("no torch, or a library with a sanitizer")
        done = run("--ranks", 2, "--link", "rate=100mbit", "--python", python, "-o", "jobs", "--",
                   ROOT / "examples" / "hook" / "train.py", "topk:ratio=0.01", cwd=self.folder,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\[0\] step 60: loss [23]\.\d+, \d+ ms a step")
        self.assertIn("topk:ratio=0.01, allgather on 2 ranks, 60 steps", done.stdout)
        lines = (self.folder / "jobs" / "records.jsonl").read_text(encoding="utf-8").splitlines()
        point = json.loads(lines[1])
        metrics = {name: metric["samples"] for name, metric in point["metrics"].items()}
        self.assertEqual(point["axes"]["collective"], "allgather")
        self.assertEqual(len(metrics["step_time"]), 60 - 1 - 2)  # the last has no end; warm-up
        # A step's parts follow each other, but for the compute beside the exchange. Medians are compared:
        # if the machine stalls, two threads may count the same seconds, and a step counts them once.
        for name in ("compress_time", "exchange_time", "decode_time"):
            self.assertGreater(min(metrics[name]), 0, name)
            self.assertLess(statistics.median(metrics[name]), statistics.median(metrics["step_time"]), name)
        payload, dense = metrics["payload_bytes"][0], metrics["dense_bytes"][0]
        self.assertTrue(dense / 100 < payload < dense / 20, (payload, dense))
        self.assertAlmostEqual(metrics["quality"][0], 1, places=2)


if __name__ == "__main__":
    unittest.main()
