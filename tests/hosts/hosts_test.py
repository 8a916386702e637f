"""`thinpipe run --hosts` over two namespaces as test hosts. Runs inside test_hosts.

The hosts share neither /tmp nor /dev/shm nor /run, and are reached only over their control
interface, by a server that stands for sshd. Standard library only.
"""
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run"))
from measured import MeasuredByProcesses, main  # noqa: E402

THINPIPE = os.environ["THINPIPE"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
TEST_HOSTS = os.environ["TEST_HOSTS"]
HOSTS = ["198.19.0.2", "198.19.0.3"]  # of the control network
DATA = "thin0"
CONTROL = "ctl0"
HAD = ["bfifo 1:"] * 2  # the star's counters


# Sets an interface's MTU (SIOCSIFMTU) in the words that follow it: name, bytes.
SET_MTU = ("import fcntl, socket, struct, sys; "
           "fcntl.ioctl(socket.socket(), 0x8922, struct.pack('16si', sys.argv[1].encode(), "
           "int(sys.argv[2])))")


def on(host, *words):
    """Returns the output of a command on a host."""
    result = subprocess.run([TEST_HOSTS, "on", host, shlex.join(words)], stdout=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, check=True, text=True, timeout=60)
    return result.stdout.strip()


class HostsCase(MeasuredByProcesses):
    def setUp(self):
        # Not in /tmp: that is each host's own.
        self.folder = tempfile.mkdtemp(prefix="thinpipe-hosts-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out")
        # --agent is a text of several words, and TEST_HOSTS may lie below a folder with a space.
        self.agent = self.write("agent", f'#!/bin/sh\nexec {shlex.quote(TEST_HOSTS)} on "$@"\n')
        os.chmod(self.agent, 0o755)
        self.hostfile = self.write("hosts", "".join(f"{host} slots=1\n" for host in HOSTS))
        self.trace = os.path.join(self.folder, "trace")
        subprocess.run([MAKE_TRACE, self.trace, "2", "3", "100000", "0.002"], check=True)
        self.assert_all_given_back()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, *arguments):
        # In a session of its own, as from another terminal.
        return subprocess.Popen(
            [THINPIPE, "run", "--baseline", "none", "--trace", self.trace, "--out", self.out,
             "--hosts", self.hostfile, "--agent", self.agent, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def points(self):
        return [record for record in self.records() if record["record"] == "point"]

    def qdiscs(self):
        return [on(host, TEST_HOSTS, "qdisc", DATA) for host in HOSTS]

    def assert_all_given_back(self):
        self.assertEqual(self.qdiscs(), HAD)
        for host in HOSTS:
            self.assertEqual(on(host, "ls", "-A", "/run"), "thinpipe" if self.ever(host) else "")
            self.assertEqual(on(host, "sh", "-c", "ls -A /run/thinpipe 2>/dev/null || true"), "")

    def ever(self, host):
        return on(host, "sh", "-c", "test -d /run/thinpipe && echo yes || true") == "yes"

    def processes(self, name):
        """By their command's name; all that there are in this PID namespace are ours."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    text = file.read()
            except OSError:
                continue
            command = text[text.index("(") + 1:text.rindex(")")]
            if command == name[:15] and text[text.rindex(")") + 2] != "Z":
                found.append(int(pid))
        return found

    def start_throttled(self, *more):
        """Returns the process of a slow run whose interfaces are throttled."""
        process = self.start(*SLOW, *more)
        self.wait_for_throttled(process)
        return process

    def wait_for_throttled(self, process):
        def throttled():
            self.assertIsNone(process.poll(), "the run ended early")
            return self.qdiscs() == ["tbf 7e19:", "tbf 7e19:"]
        self.wait_for(throttled, "throttled interfaces")

    def wait_for_given_back(self, seconds=20):
        self.wait_for(lambda: self.qdiscs() == HAD, "restored interfaces", seconds)
        self.wait_for(lambda: not self.processes("thinpipe-shape"), "the guards' end", seconds)
        self.assert_all_given_back()


# 60 steps of `none` take 0.67 s each: on a machine that stalls for seconds, too, a test disturbs them
# before they end.
SLOW = ("--shape", DATA, "--link", "rate=5mbit", "--steps", "60", "--warmup", "0")


class RunTest(HostsCase):
    def assert_no_faster(self, steps, point, payload, rate):
        """Full frames through the link, less what its bucket lets through at once. The rank that
        begins first waits for all that the other sends, so the slowest rank's step has it whole."""
        least = (payload * 1514 / 1448 - point["fidelity"]["burst_bytes"]) * 8 / rate
        self.assertGreater(min(steps), 0.999 * least)  # clocks of two hosts, the kernel's rounding

    def test_hosts_share_nothing(self):
        for folder in ("/tmp", "/dev/shm", "/run"):
            on(HOSTS[0], "touch", folder + "/of-host-0")
            self.assertEqual(on(HOSTS[1], "ls", "-A", folder).count("of-host-0"), 0)
            on(HOSTS[0], "rm", folder + "/of-host-0")

    def test_time_dilation_throttles_to_the_slowed_link(self):
        self.run_thinpipe("--shape", DATA, "--link", "rate=80mbit", "-c", "none", "--steps", "3",
                          "--warmup", "1", "--time-scale", "1|4")
        self.assert_all_given_back()
        points = {point["axes"]["time_scale"]: point for point in self.points()}
        self.assertEqual(sorted(points), [1, 4])
        for point in points.values():
            self.assert_measured(point)
            self.assertEqual(point["axes"]["rate"], 80e6)
        slowed, steps = points[4], points[4]["raw"]["step_time"]
        payload = slowed["metrics"]["payload_bytes"]["samples"][0]
        self.assert_no_faster(steps, slowed, payload, 20e6)  # not 80
        # Reported times are those of the named link, a quarter of the measured times. If a busy
        # machine took longer to compute, they are the whole compute time.
        for rank in slowed["per_rank"]:
            for raw, *told in zip(steps, rank["total"], rank["decode"], rank["compute"],
                                  rank["compress"]):
                total, decode, compute, compress = told
                self.assertLessEqual(total - decode, max(0.3 * raw, compute + compress + 1e-9))

    def test_a_throttled_run_is_measured_checked_and_counted(self):
        self.run_thinpipe("--shape", DATA, "--link", "rate=100mbit|20mbit", "-c", "topk:ratio=0.01",
                          "-c", "terngrad", "--steps", "3", "--warmup", "1")
        self.assert_all_given_back()
        header, *points = self.records()
        machines = header["machines"]
        self.assertEqual((machines["kind"], machines["hosts"], machines["throttled"]),
                         ("real", 2, DATA))
        self.assertEqual(machines["cards"], [{"mtu": 1500, "given_back": "bfifo 1:"}] * 2)
        self.assertEqual(len(machines["ranks"]), 2)
        self.assertTrue(header["fingerprint"]["congestion_control"])  # any that the hosts chose
        self.assertEqual(len(points), 6)
        for point in points:
            self.assert_right(point, steps=3)
            self.assertEqual(point["validation"]["reference"], "projections")
            self.assertGreater(point["fidelity"]["wire_ratio"], 0.98)
            if point["axes"]["method"] == "none":
                # 100000 floats cross each link once and arrive once: two ranks, 2(n-1)/n = 1.
                self.assert_no_faster(point["metrics"]["step_time"]["samples"], point, 400000,
                                      point["axes"]["rate"])

    def test_a_prefix_starts_the_program_that_throttles(self):
        # In place of `sudo -n`, for hosts whose users may not throttle.
        told = os.path.join(self.folder, "told")
        prefix = self.write("prefix", f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{told}"\nshift\nexec "$@"\n')
        os.chmod(prefix, 0o755)
        self.run_thinpipe("--shape", DATA, "--shape-prefix", f"{prefix} -n", "--link",
                          "rate=100mbit", "--steps", "1", "--warmup", "0", "--no-baseline")
        self.assert_all_given_back()
        self.assertEqual(self.records()[0]["machines"]["throttled"], DATA)
        with open(told) as file:
            self.assertEqual(file.read(), "-n\n" * len(HOSTS))

    def test_sums_in_16_bits_and_two_shots(self):
        self.run_thinpipe("--shape", DATA, "--link", "rate=100mbit", "-c", "fp16", "-c", "int8",
                          "--collective", "ring|twoshot", "--steps", "3", "--warmup", "1")
        self.assert_all_given_back()
        points = self.records()[1:]
        self.assertEqual(sorted(point["axes"]["collective"] for point in points),
                         ["allgather-ring", *["allreduce-ring"] * 2, *["pushpull-twoshot"] * 3])
        for point in points:
            self.assert_right(point, steps=3)

    def test_a_network_left_as_it_is(self):
        self.run_thinpipe("--link", "rate=1gbit", "--mpi-iface", DATA, "--steps", "2", "--warmup",
                          "1", "--no-baseline")
        self.assertFalse(self.ever(HOSTS[0]) and on(HOSTS[0], "ls", "-A", "/run/thinpipe"))
        header, point = self.records()
        self.assertIsNone(header["machines"]["throttled"])
        self.assertEqual(point["axes"]["engine"], "network")  # not pooled with a throttled point
        self.assert_measured(point)
        self.assertNotIn("wire_bytes", point["metrics"])  # nobody counts there
        self.assertIsNone(point["fidelity"]["wire_ratio"])
        self.assertGreater(point["fidelity"]["goodput_ratio"], 0)

    def test_the_mtu_of_a_network_left_as_it_is(self):
        for host in HOSTS:
            on(host, "python3", "-c", SET_MTU, DATA, "1400")
            self.addCleanup(on, host, "python3", "-c", SET_MTU, DATA, "1500")
        self.run_thinpipe("--link", "rate=1gbit", "--mpi-iface", DATA, "--steps", "1", "--warmup",
                          "0", "--no-baseline")
        header = self.records()[0]
        self.assertEqual([rank["mtu"] for rank in header["machines"]["ranks"]], [1400] * 2)
        # IPv4 and TCP with timestamps have 52 bytes, Ethernet has 14.
        for way in header["calibration"]["links"][0]["ways"]:
            self.assertAlmostEqual(way["ceiling"], 1e9 * (1400 - 52) / (1400 + 14), delta=1)


class ControllerTest(HostsCase):
    """Rank 0 is on the controller, which is last in the list of hosts."""

    def test_a_rank_that_ends_is_named_with_its_host(self):
        controller = "198.19.0.1"
        self.hostfile = self.write("hosts", f"{HOSTS[0]}\n{controller}\n")
        process = self.start("--link", "rate=1gbit", "--mpi-iface", "198.19.0.0/24", "-c",
                             "none", "--steps", "200000", "--warmup", "0")
        self.wait_for(lambda: len(self.processes("thinpipe-worker")) == 2, "the ranks")
        self.assertTrue(any(line.startswith("calibrated") for line in process.stderr))
        time.sleep(1)  # into the steps
        here = os.readlink("/proc/self/ns/net")
        (own,) = [pid for pid in self.processes("thinpipe-worker")
                  if os.readlink(f"/proc/{pid}/ns/net") == here]
        os.kill(own, signal.SIGKILL)
        self.finish(process, 4)
        (point,) = self.points()
        self.assertIn(f"rank 0 (host {controller}) was killed by SIGKILL", point["reasons"][0])


class RefusalTest(HostsCase):
    def refuse(self, expected, *arguments, code=4):
        text = self.run_thinpipe(*arguments, code=code)
        self.assertIn(expected, text)
        self.assertFalse(os.path.exists(self.out), "a refused run made its output folder")
        self.assertEqual(self.qdiscs(), HAD)

    def test_the_control_connection(self):
        self.refuse(f"{CONTROL} carries the connection to 198.19.0.1, which controls this host",
                    "--shape", CONTROL)

    def test_the_default_route_unless_told_twice(self):
        on(HOSTS[1], TEST_HOSTS, "route", DATA)
        try:
            self.refuse(f"host {HOSTS[1]}: {DATA} carries the default route", "--shape", DATA)
            self.assert_all_given_back()
            self.run_thinpipe("--shape", DATA, "--shape-anyway", "--link", "rate=200mbit",
                              "--steps", "1", "--warmup", "0", "--no-baseline")
            self.assertEqual(len(self.points()), 1)
        finally:
            on(HOSTS[1], TEST_HOSTS, "unroute", DATA)
        self.assert_all_given_back()

    def test_hosts_that_cannot_be(self):
        self.refuse("there is no interface 'eth9'", "--shape", "eth9")
        self.hostfile = self.write("nobody", "198.19.0.2\n198.19.0.77\n")
        self.refuse("host 198.19.0.77", "--shape", DATA)

    def test_words_that_cannot_be(self):
        for text, expected in (("198.19.0.2 slot=1\n", "bad:1: 'slot=1' after"),
                               ("198.19.0.2\n\n198.19.0.2\n", "bad:3: '198.19.0.2' is already in line 1"),
                               ("# none\n", "bad: names no machine")):
            self.hostfile = self.write("bad", text)
            self.refuse(expected, "--shape", DATA, code=2)
        self.hostfile = self.write("one", "198.19.0.2\n")
        self.refuse("one for each machine of --hosts", "--shape", DATA, "--ranks", "2", code=2)
        self.refuse("describe it by one --link", code=2)
        self.refuse("a real interface supports only rate", "--shape", DATA, "--link",
                    "rate=10mbit,delay=5ms", code=2)
        self.refuse("--topology applies to emulated networks", "--shape", DATA, "--topology",
                    "racks", code=2)
        self.refuse("--lease applies to throttled interfaces", "--link", "rate=1gbit", "--lease",
                    "3", code=2)
        self.refuse("--share-machine applies to emulated hosts", "--link", "rate=1gbit",
                    "--share-machine", code=2)


class GiveBackTest(HostsCase):
    def test_after_a_killed_rank(self):
        process = self.start_throttled()
        self.wait_for(lambda: len(self.processes("thinpipe-worker")) >= 2, "the ranks")
        self.assertTrue(any(line.startswith("calibrated rate=5mbit") for line in process.stderr))
        time.sleep(1)  # into the steps
        os.kill(self.processes("thinpipe-worker")[0], signal.SIGKILL)
        self.finish(process, 4)
        self.assert_all_given_back()
        failed, other = sorted(self.points(), key=lambda point: point["status"] != "failed")
        self.assertEqual(failed["status"], "failed")
        self.assert_measured(other)

    def test_after_ctrl_c(self):
        self.interrupt(self.start_throttled())
        self.assert_all_given_back()

    def guard_by(self, host, work):
        """The agent does this work before it starts the guard of this host."""
        self.agent = self.write("slow-agent", f'''#!/bin/sh
case "$*" in {host}*thinpipe-shape*) {work};; esac
exec {shlex.quote(TEST_HOSTS)} on "$@"
''')
        os.chmod(self.agent, 0o755)

    def test_after_a_login_that_took_longer_than_the_lease(self):
        # The lease is long enough that it does not end on a busy machine.
        self.guard_by(HOSTS[1], "sleep 8")
        self.finish(self.start("--shape", DATA, "--link", "rate=50mbit", "--steps", "1", "--warmup",
                               "0", "--lease", "6"))
        self.assert_all_given_back()
        self.assertEqual(len(self.points()), 2)

    def test_after_ctrl_c_while_a_guard_has_not_answered(self):
        asked = os.path.join(self.folder, "asked")
        self.guard_by(HOSTS[0], f"touch {shlex.quote(asked)}; exec sleep 50")
        process = self.start("--shape", DATA)
        self.wait_for(lambda: os.path.exists(asked), "the start of a guard")
        begin = time.monotonic()
        self.interrupt(process)
        self.assertLess(time.monotonic() - begin, 25)  # else it waits for the end of sleep
        self.assert_all_given_back()

    def kill(self, process):
        process.kill()
        process.communicate()

    def test_after_the_controller_is_killed(self):
        process = self.start_throttled()
        self.wait_for(lambda: len(self.processes("thinpipe-worker")) >= 2, "the ranks")
        self.kill(process)
        self.wait_for_given_back()
        for name in ("thinpipe-worker", "orted", "mpirun"):
            self.wait_for(lambda: not self.processes(name), "the end of " + name, 30)

    def test_after_the_connection_is_cut(self):
        # The connection is cut, not closed, so that host never sees an end of it. The lease is long
        # enough that a busy machine does not end the other host's keepers too.
        process = self.start_throttled("--lease", "6")
        keepers = set(self.processes("thinpipe-shape"))
        self.assertEqual(len(keepers), 4)  # two a host
        self.switch_port(HOSTS[0], "down")
        try:
            # That host's two end on their own; the other's go on.
            self.wait_for(lambda: len(self.processes("thinpipe-shape")) == 2, "the lease's end", 30)
        finally:
            self.switch_port(HOSTS[0], "up")
        self.assertEqual(self.qdiscs(), ["bfifo 1:", "tbf 7e19:"])
        self.kill(process)
        self.wait_for_given_back()

    def switch_port(self, host, state):
        # The switch's port: the same command on the host itself would cut off its own answer.
        subprocess.run([TEST_HOSTS, state, f"ctl0.{HOSTS.index(host)}"], check=True)

    def test_a_second_run_is_refused_and_does_no_harm(self):
        process = self.start_throttled()
        second = subprocess.run(
            [THINPIPE, "run", "--trace", self.trace, "--out", self.out + "-2", "--hosts",
             self.hostfile, "--agent", self.agent, "--shape", DATA],
            capture_output=True, text=True)
        self.assertEqual(second.returncode, 4, second.stderr)
        self.assertIn("throttled already, by process", second.stderr)
        self.wait_for_throttled(process)
        self.interrupt(process, signal.SIGTERM)
        self.assert_all_given_back()

    def test_guards_that_are_killed_leave_it_to_net_restore(self):
        process = self.start_throttled()
        for pid in self.processes("thinpipe-shape"):
            os.kill(pid, signal.SIGSTOP)  # else one of a pair would do the other's work
        for pid in self.processes("thinpipe-shape"):
            os.kill(pid, signal.SIGKILL)
        self.kill(process)
        self.wait_for(lambda: not self.processes("thinpipe-shape"), "the guards' end")
        self.assertEqual(self.qdiscs(), ["tbf 7e19:", "tbf 7e19:"])
        doctor = on(HOSTS[0], "sh", "-c", shlex.quote(THINPIPE) + " doctor; true")
        self.assertIn("the guard process died", " ".join(doctor.split()))
        for host in HOSTS:
            self.assertEqual(on(host, THINPIPE, "net", "restore"), DATA + ": back to bfifo 1:")
            self.assertIn("no interface", on(host, THINPIPE, "net", "restore"))
        self.assert_all_given_back()


if __name__ == "__main__":
    main()
