#!/usr/bin/env python3
"""`thinpipe net exec`: other people's programs between emulated hosts. Standard library only."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

THINPIPE = os.environ["THINPIPE"]
LIMIT = os.environ["TIME_LIMIT"]  # s, for one program
PYTHON = sys.executable

# Takes one connection and sends back how many bytes came.
SERVER = """
import socket
with socket.create_server(("", 7000)) as door:
    other, _ = door.accept()
    count = 0
    while part := other.recv(1 << 16):
        count += len(part)
    other.sendall(str(count).encode())
"""

# Sends the given number of bytes to a host by name. Prints how many bytes the server counted and
# how long the transfer took.
CLIENT = """
import socket, sys, time
begin = time.monotonic()
with socket.create_connection((sys.argv[1], 7000)) as other:
    other.sendall(bytes(int(sys.argv[2])))
    other.shutdown(socket.SHUT_WR)
    print(other.recv(100).decode(), time.monotonic() - begin)
"""


def run(*words, **options):
    return subprocess.run([THINPIPE, "net", "exec", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=int(LIMIT), check=False,
                          **options)


class Exec(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "server.py").write_text(SERVER, encoding="utf-8")
        (self.folder / "client.py").write_text(CLIENT, encoding="utf-8")

    def send(self, bytes_, *options):
        done = run(*options, "--serve", f"host1:exec {PYTHON} {self.folder}/server.py", "--wait", LIMIT,
                   "--", PYTHON, str(self.folder / "client.py"), "host1", str(bytes_))
        self.assertEqual(done.returncode, 0, done.stderr)
        count, seconds = done.stdout.split()
        self.assertEqual(int(count), bytes_)
        return float(seconds), done.stderr

    def test_what_is_sent_crosses_the_link_that_was_asked_for(self):
        seconds, told = self.send(1000000, "--link", "rate=8mbit")
        self.assertGreater(seconds, 0.95)  # 1 s, less the bucket
        # The average is over the command's time, which includes the client's start.
        self.assertRegex(told, r"Busiest: uplink of host0, \S+ [kM]bit/s on average, "
                               r"\d+ % of 8 Mbit/s")
        self.assertRegex(told, r"host0 +sent +1\.\d+ MB, received")
        slow, _ = self.send(1000000, "--link", "rate=80mbit", "--topology",
                            "racks:racks=2,oversubscription=10")
        self.assertGreater(slow, 0.95)

    def test_a_schedule_begins_with_the_command(self):
        _, told = self.send(100000, "--link", "rate=80mbit", "--schedule", "steps:0s=0%,700ms=100%")
        # thinpipe's clock starts before the schedule starts. By this clock nothing arrives before
        # 0.7 s, however long the client took to start.
        after = re.search(r"after ([\d.]+) (ms|s)\b", told)
        self.assertGreaterEqual(float(after[1]) * {"ms": 1e-3, "s": 1}[after[2]], 0.7)

    def test_hosts_have_names_addresses_and_nothing_else(self):
        done = run("--ranks", "3", "--on", "host2", "-q", "--", "sh", "-c",
                   "hostname; echo $THINPIPE_HOST $THINPIPE_HOST_ADDRESSES; getent hosts host1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[:2],
                         ["host2", "host2 host0=198.18.0.1 host1=198.18.0.2 host2=198.18.0.3"])
        self.assertRegex(done.stdout.splitlines()[2], r"^198\.18\.0\.2 +host1$")
        done = run("-q", "--", PYTHON, "-c",
                   "import socket; socket.create_connection(('192.0.2.1', 80), 5)")
        self.assertIn("Network is unreachable", done.stderr)

    def test_connections_use_cubic_as_those_of_ranks_do(self):
        named = ("import socket, sys; s = socket.socket(); "
                 "print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0'))")
        done = run("--", PYTHON, "-c", named)
        self.assertEqual(done.stdout.strip(), "b'cubic'", done.stderr)

    def test_the_exit_code_is_the_commands(self):
        self.assertEqual(run("-q", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run("-q", "--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)

    def test_what_cannot_be(self):
        for words, text in [
                (["--", "no-such-program"], "run 'no-such-program' on host0: No such file"),
                (["--on", "host7", "--", "true"], "--on: there is no host 'host7'; hosts are host0 "),
                (["--serve", "host1", "--", "true"], "--serve: found 'host1', expected HOST:COMMAND"),
                (["--serve", "hots1:true", "--", "true"], "did you mean 'host1'"),
                (["--schedule", "steps:0s=1gbit;nonsense", "--", "true"], "schedule"),
                ([], "COMMAND is missing")]:
            done = run(*words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)

    def test_nothing_is_left_behind(self):
        begun = self.folder / "begun"  # whoever reads it waits for the server
        os.mkfifo(begun)
        seconds = f"1000.{os.getpid()}"  # of no other test
        served = f"host1:echo begun > {begun}; exec sleep {seconds}"
        self.assertEqual(run("--serve", served, "--wait", "0", "--", "cat", begun).stdout, "begun\n")
        process = subprocess.Popen([THINPIPE, "net", "exec", "--serve", served, "--wait", "0", "--",
                                    "sleep", seconds], stderr=subprocess.DEVNULL)
        self.assertEqual(begun.read_text(encoding="utf-8"), "begun\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)
        left = subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], capture_output=True, text=True,
                              check=False).stdout
        self.assertEqual(left, "")


if __name__ == "__main__":
    unittest.main()
