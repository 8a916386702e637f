#!/usr/bin/env python3
"""`thinpipe net torchrun`: a job of several ranks, one on each emulated host. Standard library only, but
for the job of PyTorch."""
import os
import pathlib
import re
import signal
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

FAIL = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(3)
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

    def test_a_stop_ends_the_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            mark = f"{800 + number}.25"  # seconds, by which the ranks are found
            with self.start_ranks(mark) as process:
                self.assertRegex(process.stdout.readline(), r"^\[[01]\] ready$")
                process.send_signal(number)
                process.stdout.read()
                self.assertEqual(process.wait(30), 128 + number)
            self.assert_gone(mark)

    def test_a_kill_leaves_nothing(self):
        with self.start_ranks("777.25") as process:
            process.stdout.readline()
            process.kill()
            process.stdout.read()
        self.assert_gone("777.25")

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

    def test_a_job_with_compressed_gradients(self):
        python = python_with_torch()
        if python is None or "THINPIPE_LIBRARY" not in os.environ:
            self.skipTest("no torch, or a library with a sanitizer")
        done = run("--ranks", 2, "--link", "rate=100mbit", "--python", python, "--",
                   ROOT / "examples" / "hook" / "train.py", "topk:ratio=0.01", cwd=self.folder,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\[0\] step 60: loss [23]\.\d+, \d+ ms a step")
        self.assertIn("topk:ratio=0.01, allgather on 2 ranks, 60 steps", done.stdout)


if __name__ == "__main__":
    unittest.main()
