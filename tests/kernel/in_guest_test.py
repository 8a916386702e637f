#!/usr/bin/env python3
"""in_guest.py does as its description promises. Standard library only.

in_guest_test.py NoBoot    with programs that only claim to be user-mode Linux
in_guest_test.py UnderUml UnderQemu
                           boots six guests of each kind; exits with 77 where neither boots
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

IN_GUEST = pathlib.Path(__file__).resolve().with_name("in_guest.py")
PYTHON = os.path.realpath(sys.executable)  # a shim may need the PATH that a test takes away

# A fake kernel that behaves like user-mode Linux 6.1 on a CPU with amx_tile: it prints messages,
# then spins and ignores SIGTERM. Its child is in another session.
SPINS = """#!/bin/sh
[ "$1" != --version ] || { echo 6.1.176; exit; }
trap '' TERM
%s
PATH=/usr/bin:/bin setsid sh -c 'while :; do :; done' "$@" &
while :; do :; done
"""
PANIC = """echo 'put_fp_registers: errno = 22'
echo 'Kernel panic - not syncing: fatal_sigsegv'"""


def kernel_processes(folder):
    """Processes of guests whose files are below the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if os.fsencode(folder) in command and b"in_guest.py" not in command:
            found.append(int(pid))
    return found


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(self.folder.cleanup)
        self.environment = dict(os.environ, TMPDIR=self.folder.name, LC_ALL="C.UTF-8",
                                THINPIPE_GUEST=self.kind)

    def start(self, *arguments):
        return subprocess.Popen([PYTHON, IN_GUEST, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def run_guest(self, *arguments):
        process = self.start(*arguments)
        output, error = process.communicate(timeout=120)
        return process.returncode, output, error

    def assert_nothing_left(self, files=()):
        deadline = time.monotonic() + 10
        while kernel_processes(self.folder.name) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(kernel_processes(self.folder.name), [])
        while sorted(os.listdir(self.folder.name)) != sorted(files) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(files))


class NoBoot(Runner):
    kind = "uml"

    def setUp(self):
        super().setUp()
        self.environment["THINPIPE_GUEST_SECONDS"] = "2"

    def make_kernel(self, name, messages):
        program = pathlib.Path(self.folder.name, name)
        program.write_text(SPINS % messages, encoding="utf-8")
        program.chmod(0o755)
        self.environment["THINPIPE_UML"] = str(program)

    def test_a_panic_is_named_and_the_guest_ended(self):
        self.make_kernel("panics", PANIC)
        begin = time.monotonic()
        code, output, error = self.run_guest("true")
        self.assertEqual(code, 77, output + error)
        self.assertIn("user-mode Linux 6.1.176 does not boot: Kernel panic - not syncing: "
                      "fatal_sigsegv", output)
        self.assertLess(time.monotonic() - begin, 5)  # 0.3 s on a quiet machine
        self.assert_nothing_left(["panics"])

    def test_a_guest_that_does_not_power_off_is_ended(self):
        # Its init has run the command and left the exit code.
        self.make_kernel("stays", "echo 'in_guest: init runs'; for word; do case $word in init=*) "
                         "echo 5 >\"$(dirname \"${word#init=}\")/code\";; esac; done")
        begin = time.monotonic()
        code, output, error = self.run_guest("true")
        self.assertEqual(code, 5, output + error)
        self.assertIn("it did not power off within 2 s", error)
        self.assertLess(time.monotonic() - begin, 30)
        self.assert_nothing_left(["stays"])

    def test_an_init_that_does_not_answer_is_named_and_the_guest_ended(self):
        self.make_kernel("silent", "exec sleep 100")
        code, output, error = self.run_guest("--probe")
        self.assertEqual(code, 77, output + error)
        self.assertEqual(output, "none: user-mode Linux 6.1.176 does not boot: its init "
                                 "did not answer within 2 s\n")
        self.assert_nothing_left(["silent"])

    def test_when_it_is_ended_nothing_is_left(self):
        for path in (os.environ["PATH"], "/nonexistent"):  # with and without unshare
            for number in (signal.SIGTERM, signal.SIGKILL):
                with self.subTest(path=path, number=number):
                    self.make_kernel("silent", ":")
                    self.environment["PATH"] = path
                    process = self.start("true")
                    while len(kernel_processes(self.folder.name)) < 2:
                        self.assertIsNone(process.poll())
                        time.sleep(0.02)
                    process.send_signal(number)
                    process.communicate(timeout=30)
                    self.assert_nothing_left(["silent"])

    def test_without_a_kernel_it_says_so(self):
        self.environment["THINPIPE_UML"] = "/nonexistent/linux"
        code, output, _ = self.run_guest("true")
        self.assertEqual(code, 77)
        self.assertIn("no /nonexistent/linux in PATH (Debian: user-mode-linux", output)

    def test_a_kernel_that_is_none_of_both_is_wrong_use(self):
        self.environment["THINPIPE_GUEST"] = "xen"
        code, _, error = self.run_guest("true")
        self.assertEqual((code, error), (2, "in_guest: THINPIPE_GUEST is 'xen', not uml or qemu\n"))


class Boots(Runner):
    def setUp(self):
        if self.kind not in KINDS:
            self.skipTest(f"{self.kind} does not boot here")
        super().setUp()

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
        self.assert_nothing_left(["out of it"])

    def test_a_time_limit_ends_it(self):
        begin = time.monotonic()
        code, output, error = self.run_guest("--time-limit", self.limit, "--", "sh", "-c",
                                             "echo before; " + FOR_EVER)
        self.assertEqual(code, 124, error)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(output, "before\n")
        self.assertIn(f"not done after {self.limit} s", error)
        self.assertIn("as init process", error)  # a message of the guest's kernel
        self.assert_nothing_left()

    def test_a_time_limit_ends_it_without_namespaces_too(self):
        self.environment["PATH"] = "/nonexistent"  # where unshare is not
        code, output, _ = self.run_guest("--time-limit", self.limit, "--", "/bin/sh", "-c",
                                         "echo before; " + FOR_EVER)
        self.assertEqual((code, output), (124, "before\n"))
        self.assert_nothing_left()

    def test_a_guest_that_ends_without_an_answer_is_an_error(self):
        code, _, error = self.run_guest("--", "busybox", "poweroff", "-f")
        self.assertEqual(code, 125, error)
        self.assertIn("without an exit code", error)

    def test_when_it_is_killed_nothing_is_left(self):
        process = self.start("--", "sh", "-c", "echo up; " + FOR_EVER)
        self.assertEqual(process.stdout.readline(), "up\n")
        self.assertGreaterEqual(len(kernel_processes(self.folder.name)), 1)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        self.assert_nothing_left()

    def test_where_the_first_kernel_fails_the_next_is_booted(self):
        if self.kind == "uml":
            self.skipTest("it is the first")
        del self.environment["THINPIPE_GUEST"]
        self.environment["THINPIPE_UML"] = "/nonexistent/linux"
        code, output, error = self.run_guest("--", "echo", "up")
        self.assertEqual((code, output), (0, "up\n"), error)
        self.assertIn("under QEMU, because: no /nonexistent/linux in PATH", error)


class UnderUml(Boots):
    kind = "uml"
    limit = "4"


class UnderQemu(Boots):
    kind = "qemu"
    limit = "15"


# A loop of sleeps, because a single long sleep takes no time at all in a guest of QEMU, whose clock
# does not wait.
FOR_EVER = "while :; do /bin/sleep 100; done"
KINDS = [kind for kind in ("uml", "qemu") if "NoBoot" not in sys.argv and subprocess.run(
    [PYTHON, IN_GUEST, "--probe"], check=False,
    env=dict(os.environ, THINPIPE_GUEST=kind)).returncode == 0]

if __name__ == "__main__":
    if not KINDS and "NoBoot" not in sys.argv:
        sys.exit(77)
    unittest.main()
