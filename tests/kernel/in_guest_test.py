#!/usr/bin/env python3
"""in_guest.py keeps what its text promises. Boots five guests. Standard library only."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

IN_GUEST = pathlib.Path(__file__).resolve().with_name("in_guest.py")


def kernel_processes(folder):
    """Processes of guests whose files are below the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if os.fsencode(folder) in command and b"rootfstype=hostfs" in command:
            found.append(int(pid))
    return found


class InGuest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, TMPDIR=self.folder.name, LC_ALL="C.UTF-8")

    def start(self, *arguments):
        return subprocess.Popen([sys.executable, IN_GUEST, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def run_guest(self, *arguments):
        process = self.start(*arguments)
        output, error = process.communicate(timeout=120)
        return process.returncode, output, error

    def assert_no_process_left(self):
        deadline = time.monotonic() + 10
        while kernel_processes(self.folder.name) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(kernel_processes(self.folder.name), [])

    def test_the_command_has_its_environment_and_hands_back_its_code(self):
        out = self.folder.name + "/out of it"
        os.mkdir(out)
        script = ('id -u; pwd; uname -r; echo "$WORDS"; echo "to stderr" >&2; touch "$0/made" && '
                  'touch /tmp/mine && ! touch "/not mine" 2> /dev/null && exit 7')
        code, output, error = self.run_guest("--env", "WORDS=it's two", "--out", out, "--", "sh",
                                             "-c", script, out)
        self.assertEqual(code, 7, output + error)
        lines = output.splitlines()
        self.assertEqual(lines[:2] + lines[3:], ["0", os.getcwd(), "it's two", "to stderr"])
        self.assertNotEqual(lines[2], os.uname().release)
        self.assertTrue(os.path.exists(out + "/made"))
        self.assertEqual(os.listdir(self.folder.name), ["out of it"])
        self.assert_no_process_left()

    def test_a_time_limit_ends_it(self):
        begin = time.monotonic()
        code, output, error = self.run_guest("--time-limit", "4", "--", "sh", "-c",
                                             "echo before; sleep 100; echo after")
        self.assertEqual(code, 124, error)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertNotIn("after", output)
        self.assertIn("not done after 4 s", error)
        self.assertIn("as init process", error)  # what the guest's kernel said
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assert_no_process_left()

    def test_a_time_limit_ends_it_without_namespaces_too(self):
        self.environment["PATH"] = "/nonexistent"  # where unshare is not
        code, output, _ = self.run_guest("--time-limit", "4", "--", "/bin/sh", "-c",
                                         "echo before; exec /bin/sleep 100")
        self.assertEqual((code, output), (124, "before\n"))
        self.assert_no_process_left()

    def test_a_guest_that_ends_without_an_answer_is_an_error(self):
        code, _, error = self.run_guest("--", "busybox", "poweroff", "-f")
        self.assertEqual(code, 125, error)
        self.assertIn("without an exit code", error)

    def test_when_it_is_killed_no_process_is_left(self):
        process = self.start("--", "sh", "-c", "echo up; sleep 100")
        self.assertEqual(process.stdout.readline(), "up\n")
        self.assertGreaterEqual(len(kernel_processes(self.folder.name)), 1)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        self.assert_no_process_left()

    def test_without_a_kernel_it_says_so(self):
        self.environment["THINPIPE_UML"] = "/nonexistent/linux"
        code, output, _ = self.run_guest("true")
        self.assertEqual(code, 77)
        self.assertIn("no /nonexistent/linux in PATH (Debian: user-mode-linux", output)


if __name__ == "__main__":
    if subprocess.run([sys.executable, IN_GUEST, "true"], check=False).returncode == 77:
        sys.exit(77)
    unittest.main()
