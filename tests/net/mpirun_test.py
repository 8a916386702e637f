#!/usr/bin/env python3
"""`thinpipe net mpirun`: an MPI job of several ranks, one on each emulated host. Standard library only."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

THINPIPE, MPI_JOB = os.environ["THINPIPE"], os.environ["MPI_JOB"]
SLEEP = f"sleep 811.{os.getpid()}"  # of no other test


def run(*words):
    return subprocess.run([THINPIPE, "net", "mpirun", *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=180, check=False)


class Mpirun(unittest.TestCase):
    def test_messages_cross_the_links(self):
        with tempfile.TemporaryDirectory(prefix="thinpipe-test-") as folder:
            done = run("--ranks", 3, "--link", "rate=8mbit", "--warmup", 0, "-o", folder, "--", MPI_JOB,
                       500000)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            took = dict(re.findall(r"(?m)^\[(\d)\] rank \d of 3 took ([\d.]+) s$", done.stdout))
            self.assertEqual(sorted(took), ["0", "1", "2"], done.stdout)
            # Both senders share rank 0's downlink: 1 MB at 8 Mbit/s is 1 s, less the bucket.
            self.assertGreater(float(took["0"]), 0.95)
            self.assertIn("Busiest: downlink of host0", done.stderr)
            lines = (pathlib.Path(folder) / "records.jsonl").read_text(encoding="utf-8").splitlines()
            point = json.loads(lines[1])
            self.assertGreater(point["metrics"]["step_time"]["samples"][0], 0.95)
            self.assertGreater(point["hosts"][0]["received_bytes"], 1e6)

    def test_a_failing_rank_ends_the_job(self):
        done = run("--ranks", 2, "-q", "--", MPI_JOB, 1, 7)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)

    def test_a_stop_ends_the_ranks(self):
        with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
                [THINPIPE, "net", "mpirun", "-q", "--", "sh", "-c", f"echo ready; exec {SLEEP}"],
                stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            # Nothing else would end a job that does not begin.
            limit = threading.Timer(120, process.kill)
            limit.start()
            try:
                said = ""
                # Open MPI may print a warning before.
                for line in process.stdout:
                    said += line
                    if re.match(r"\[[01]\] ready$", line):
                        break
                process.send_signal(signal.SIGINT)
                said += process.stdout.read()
                errors.seek(0)
                self.assertIn("] ready\n", said, errors.read())
                self.assertEqual(process.wait(), 128 + signal.SIGINT, said)
            finally:
                limit.cancel()
                process.kill()
        until = time.monotonic() + 10
        while subprocess.run(["pgrep", "-fx", SLEEP], capture_output=True, check=False).returncode == 0:
            self.assertLess(time.monotonic(), until, "a rank was left behind")
            time.sleep(0.1)

    def test_a_missing_program(self):
        done = run("-q", "--", "no-such-program")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-program", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
