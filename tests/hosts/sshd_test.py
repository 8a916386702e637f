"""`thinpipe run --hosts` over real sshd, one on each test host. Runs inside test_hosts.

The commands are those that a user types: no --agent, with keys, known hosts and settings in ~/.ssh.
The server of test_hosts only starts sshd and looks at the hosts. Standard library only.
"""
import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

import sshd
from hosts_test import DATA, HAD, HOSTS, TEST_HOSTS, THINPIPE, HostsCase, on
from measured import EXIT_SKIPPED, main

SOON = 30  # s until a refusal; a run without trouble needs one or two to reach the hosts
GREETING = ("echo 'Welcome. Authorised use only.'",
            "echo 'This host restarts on Sundays.' >&2",
            "printf 'no end of line'")
# Not throttled: a short run, and one that is still measuring when its host dies.
PLAIN = ("--link", "rate=1gbit", "--mpi-iface", DATA)
SHORT = (*PLAIN, "--steps", "2", "--warmup", "1")
LONG = (*PLAIN, "--steps", "200000", "--warmup", "0")
OURS = {"thinpipe", "thinpipe-worker", "thinpipe-shape", "mpirun", "orted", "ssh"}


class SshdTest(HostsCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="thinpipe-hosts-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.home, cls.home_there = cls.inside("home"), cls.inside("home-there")
        cls.ssh_folder = os.path.join(cls.home, ".ssh")
        for folder in (cls.home, cls.home_there, cls.ssh_folder):
            os.mkdir(folder, 0o700)
        key = sshd.make_key(os.path.join(cls.ssh_folder, "id_ed25519"))
        sshd.write(cls.inside("authorized_keys"), key)
        sshd.write(os.path.join(cls.ssh_folder, "config"), "StrictHostKeyChecking yes",
                   "GlobalKnownHostsFile /dev/null")
        cls.servers = [sshd.Server(host, cls.shared, cls.home_there, on) for host in HOSTS]
        # ssh finds ~/.ssh by the account database and not by HOME. The mount ends with the sandbox.
        sshd.write_users(cls.inside("passwd"), cls.home)
        subprocess.run(["mount", "--bind", cls.inside("passwd"), "/etc/passwd"], check=True)

    @classmethod
    def inside(cls, name):
        return os.path.join(cls.shared, name)

    def setUp(self):
        super().setUp()
        self.know({server.host: server.key for server in self.servers})
        for server in self.servers:
            self.addCleanup(server.stop)
            server.start()

    def know(self, keys):
        """Writes known_hosts. `keys`: {host: key}"""
        sshd.write(os.path.join(self.ssh_folder, "known_hosts"),
                   *(f"{host} {key}" for host, key in keys.items()))

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [THINPIPE, "run", "--no-baseline", "--trace", self.trace, "--out", self.out, "--hosts",
             self.hostfile, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=sshd.ENVIRONMENT, **options)

    def ssh(self, host, command):
        return subprocess.run(["ssh", host, command], stdin=subprocess.DEVNULL, check=True,
                              stdout=subprocess.PIPE, text=True, timeout=60,
                              env=sshd.ENVIRONMENT).stdout

    def assert_all_given_back(self):
        """As in HostsCase, but /run has a folder of sshd too."""
        self.assertEqual(self.qdiscs(), HAD)
        for host in HOSTS:
            self.assertEqual(on(host, "sh", "-c", "ls -A /run/thinpipe 2>/dev/null || true"), "")

    def left(self):
        """Returns the names of all processes of a run and of its logins."""
        names = [name for _, name, _ in sshd.processes() if name in OURS]
        for server in self.servers:
            names += [f"{name} on {server.host}" for name in server.logins().values()]
        return sorted(names)

    def assert_nothing_left(self, seconds=60):
        deadline = time.monotonic() + seconds
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.left(), [])
        self.wait_for(lambda: self.qdiscs() == HAD, "restored interfaces", seconds)
        self.assert_all_given_back()

    def run_right(self, *arguments):
        """Runs one point of two measured steps, and checks it. Returns the records' header."""
        self.run_thinpipe(*arguments)
        header, point = self.records()
        self.assert_right(point, steps=2)
        self.assertEqual(point["validation"]["reference"], "projections")
        self.assertEqual((header["machines"]["kind"], header["machines"]["launcher"]),
                         ("real", "ssh"))
        self.assert_nothing_left()
        return header

    def refuse(self, *expected, arguments=SHORT, **options):
        """The run ends soon, changes nothing, and its error has all that is expected."""
        begin = time.monotonic()
        text = self.run_thinpipe(*arguments, code=4, **options)
        self.assertLess(time.monotonic() - begin, SOON, text)
        for words in (f"host {HOSTS[1]}: ", *expected):
            self.assertIn(words, text)
        self.assertFalse(os.path.exists(self.out), "a refused run made its output folder")
        self.assert_nothing_left()

    def wait_for_steps(self, process, link):
        self.wait_for(lambda: self.left().count("thinpipe-worker") >= 2, "the ranks")
        self.assertTrue(any(line.startswith("calibrated " + link) for line in process.stderr))
        time.sleep(1)  # into the steps

    def fail_naming(self, host, process):
        """The run ends with an error, and its failed point names the host."""
        self.finish(process, 4)
        reasons = [reason for point in self.points() for reason in point["reasons"]]
        self.assertEqual([point["status"] for point in self.points()], ["failed"], reasons)
        self.assertIn(host, " ".join(reasons))

    def test_a_run_is_right_and_leaves_nothing(self):
        def files():
            # Not those of trees that are mounted below /tmp. Killed daemons of Open MPI, in other
            # tests, leave files there.
            return [on(host, "find", "/tmp", "-xdev", "!", "-type", "d") for host in HOSTS]
        before = files()
        self.run_right(*SHORT)
        self.assertEqual(files(), before)

    def test_a_login_shell_that_prints(self):
        for name in (".bashrc", ".profile"):
            path = os.path.join(self.home_there, name)
            sshd.write(path, *GREETING)
            self.addCleanup(os.remove, path)
        sshd.write(self.inside("banner"), "By order of the owner:", "do not log in")
        for server in self.servers:
            server.start("Banner " + self.inside("banner"))
        for host in HOSTS:
            self.assertIn("Welcome", self.ssh(host, "true"))
        # A guard answers through its login, so that the greeting comes before its first answer.
        self.run_right("--shape", DATA, "--link", "rate=100mbit", "--steps", "2", "--warmup", "1")

    def test_a_host_whose_key_is_unknown_or_another(self):
        self.know({HOSTS[0]: self.servers[0].key})
        self.refuse("Host key verification failed", f"Log in once by hand (`ssh {HOSTS[1]}`)")
        self.know({host: self.servers[0].key for host in HOSTS})
        self.refuse("Host key verification failed", f"`ssh-keygen -R {HOSTS[1]}`")

    def test_a_password_is_asked_for(self):
        self.servers[1].start("PubkeyAuthentication no", "PasswordAuthentication yes")
        # At a terminal, on which ssh would ask. Also with an ssh that is not in BatchMode.
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        os.set_blocking(ours, False)
        for agent, more in (((), ""), (("--agent", "ssh"), "the options of `ssh`")):
            with self.subTest(agent=agent):
                self.refuse("Permission denied (password)", f"`ssh-copy-id {HOSTS[1]}`", more,
                            arguments=(*SHORT, *agent),
                            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
                with self.assertRaises(BlockingIOError):  # nothing is shown there
                    os.read(ours, 1000)

    def test_a_login_that_is_cut(self):
        process = self.start_throttled("-c", "none")  # 40 s of steps, since all elements are sent
        self.wait_for_steps(process, "rate=5mbit")
        self.servers[1].stop()
        self.fail_naming(HOSTS[1], process)
        self.assert_nothing_left()

    def test_a_host_that_dies(self):
        process = self.start(*LONG)
        self.wait_for_steps(process, "rate=1gbit")
        dead = self.servers[1].running()
        for pid in dead:
            sshd.send(pid, signal.SIGSTOP)  # SIGKILL would close connections, as no power cut does
        self.switch("down")
        try:
            self.fail_naming(HOSTS[1], process)
            # The logins on this machine end although their host never answers again.
            self.wait_for(lambda: "ssh" not in self.left(), "the end of ssh")
        finally:
            for pid in dead:
                sshd.send(pid, signal.SIGKILL)
            self.switch("up")
        self.assert_nothing_left()

    def switch(self, state):
        # The switch's port, since a host whose own interface is down cannot be told to set it up.
        subprocess.run([TEST_HOSTS, state, "ctl0.1"], check=True)

    def test_a_full_disk(self):
        folder = self.inside("full")
        os.mkdir(folder)
        self.servers[1].do("mount", "-t", "tmpfs", "-o", "size=1m", "full", folder)
        self.addCleanup(self.servers[1].do, "umount", folder)
        on(HOSTS[1], "sh", "-c", f"head -c 2000000 /dev/zero >{folder}/data 2>&1 || true")
        self.servers[1].start("SetEnv TMPDIR=" + folder)
        self.refuse(folder, "No space left on device", "set TMPDIR on that host")
        self.assertEqual(on(HOSTS[1], "ls", "-A", folder), "data")

    def test_clocks_that_differ_by_minutes(self):
        # Only the monotonic clocks, the only ones that ranks read.
        later = ("unshare", "--time", "--monotonic", "600", "--boottime", "600")
        if subprocess.run([*later, "true"], capture_output=True).returncode != 0:
            self.skipTest("no time namespaces (util-linux 2.36, CONFIG_TIME_NS)")
        self.servers[1].start(prefix=later)
        first, second = (float(self.ssh(host, "cat /proc/uptime").split()[0]) for host in HOSTS)
        self.assertGreater(second - first, 590)
        self.run_right(*SHORT)


if __name__ == "__main__":
    reason = sshd.why_not()
    if reason is not None:
        print(reason)
        sys.exit(EXIT_SKIPPED)
    main()
