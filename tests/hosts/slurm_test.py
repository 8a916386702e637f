"""`thinpipe run --hosts slurm` over Debian's Slurm, with a slurmd on each test host. Runs inside
test_hosts.

slurmctld, salloc, sbatch and scancel run beside the hosts, as on a login node. The server of
test_hosts only starts slurmd and looks at the hosts. Standard library only.
"""
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import sshd
from hosts_test import DATA, HAD, HOSTS, TEST_HOSTS, THINPIPE, HostsCase, on
from measured import EXIT_SKIPPED, main

LOGIN = "198.19.0.1"  # of the control network
NODES = ["host0", "host1"]  # the hosts' own names
# Not throttled: a short run, and one that is still measuring when something happens.
PLAIN = ("--link", "rate=1gbit", "--mpi-iface", DATA)
SHORT = (*PLAIN, "--steps", "2", "--warmup", "1")
LONG = (*PLAIN, "--steps", "200000", "--warmup", "0")
THROTTLED = ("--shape", DATA, "--link", "rate=100mbit", "--steps", "2", "--warmup", "1")
SALLOC = ("salloc", "--quiet", "--nodes=2")
OURS = {"thinpipe", "thinpipe-worker", "thinpipe-shape", "mpirun", "orted", "salloc", "srun",
        "slurmstepd"}

# Without MUNGE, which wants a key and a daemon: all processes here are root's. Without cgroups,
# which these hosts share. SlurmdTimeout: s until a node that does not answer is down, and its jobs
# end; longer than the 25 s after which thinpipe gives it up.
CONFIGURATION = """ClusterName=test
SlurmctldHost={login}({address})
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SlurmdTimeout=60
KillWait=5
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=host[0-1] CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""


def why_not():
    """Returns the reason why Slurm cannot run here; None if it can."""
    for program in ("slurmctld", "slurmd", "salloc", "sbatch", "scancel", "mount"):
        if not shutil.which(program):
            return f"no {program}; ./setup --full installs it (Debian: slurm-wlm)"
    return sshd.why_no_daemons()


class SlurmTest(HostsCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="thinpipe-hosts-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        os.mkdir(cls.inside("state"))
        with open(cls.inside("slurm.conf"), "w") as file:
            file.write(CONFIGURATION.format(login=socket.gethostname(), address=LOGIN,
                                            folder=cls.shared))
        os.environ["SLURM_CONF"] = cls.inside("slurm.conf")
        names = ["127.0.0.1 localhost", f"{LOGIN} {socket.gethostname()}"]
        names += [f"{host} {node}" for host, node in zip(HOSTS, NODES)]
        sshd.write(cls.inside("names"), *names, mode=0o644)
        mount = ("mount", "--bind", cls.inside("names"), "/etc/hosts")
        subprocess.run(mount, check=True)  # the mounts end with the sandbox
        for host in HOSTS:
            on(host, *mount)
        subprocess.run(["slurmctld"], check=True)
        cls.addClassCleanup(cls.stop_daemons)
        for host in HOSTS:
            cls.start_slurmd(host)

    @classmethod
    def inside(cls, name):
        return os.path.join(cls.shared, name)

    @classmethod
    def start_slurmd(cls, host):
        # A daemon must not keep the server's connection open.
        on(host, "env", "SLURM_CONF=" + cls.inside("slurm.conf"), "sh", "-c",
           f"slurmd </dev/null >{cls.inside('slurmd-' + host)} 2>&1")

    @classmethod
    def stop_daemons(cls):
        for pid, name, _ in sshd.processes():
            if name.startswith("slurm"):
                sshd.send(pid, signal.SIGKILL)

    def setUp(self):
        super().setUp()
        self.launcher, self.hosts = SALLOC, ("--hosts", "slurm")
        self.wait_for_nodes()

    def wait_for_nodes(self):
        self.wait_for(lambda: self.slurm("sinfo", "--noheader", "--format=%T %D") == "idle 2",
                      "idle nodes")

    def slurm(self, *words):
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def command(self, *arguments):
        return [THINPIPE, "run", "--no-baseline", "--trace", self.trace, "--out", self.out,
                *self.hosts, *arguments]

    def start(self, *arguments):
        return subprocess.Popen(
            [*self.launcher, *self.command(*arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def assert_all_given_back(self):
        """As in HostsCase, but /run may have files of Slurm too."""
        self.assertEqual(self.qdiscs(), HAD)
        for host in HOSTS:
            self.assertEqual(on(host, "sh", "-c", "ls -A /run/thinpipe 2>/dev/null || true"), "")

    def left(self):
        """Returns the names of all processes of a run and of its Slurm job."""
        return sorted(name for _, name, _ in sshd.processes() if name in OURS)

    def assert_nothing_left(self):
        self.wait_for(lambda: not self.left(), "the end of all processes")
        self.wait_for(lambda: self.qdiscs() == HAD, "restored interfaces")
        self.assert_all_given_back()
        # A job that has ended is "completing" for a while.
        self.wait_for(lambda: self.slurm("squeue", "--noheader") == "", "the end of the job")

    def files(self):
        return [on(host, "find", "/tmp", "-xdev", "!", "-type", "d") for host in HOSTS]

    def assert_run_right(self, launcher="slurm"):
        header, point = self.records()
        self.assert_right(point, steps=2)
        self.assertEqual((header["machines"]["kind"], header["machines"]["launcher"]),
                         ("real", launcher))
        self.assertEqual(len(header["machines"]["ranks"]), 2)
        self.assert_nothing_left()

    def wait_for_steps(self, process, link):
        self.wait_for(lambda: self.left().count("thinpipe-worker") == 2, "the ranks")
        self.assertTrue(any(line.startswith("calibrated " + link) for line in process.stderr))

    def reasons(self):
        self.assertEqual({point["status"] for point in self.points()}, {"failed"})
        return [" ".join(point["reasons"]) for point in self.points()]

    def test_an_allocation(self):
        before = self.files()
        self.run_thinpipe(*SHORT)
        self.assert_run_right()
        self.assertEqual(self.files(), before)

    def test_a_throttled_allocation(self):
        self.run_thinpipe(*THROTTLED)
        self.assert_run_right()

    def test_a_batch_job(self):
        # It runs on the first node, so the controller is a host.
        script = self.write("job", "#!/bin/sh\nexec " + shlex.join(self.command(*THROTTLED)) + "\n")
        log = os.path.join(self.folder, "log")
        ended = subprocess.run(["sbatch", "--quiet", "--wait", "--nodes=2", "--ntasks-per-node=2",
                                "--output=" + log, script])
        with open(log) as file:
            self.assertEqual(ended.returncode, 0, file.read())
        self.assert_run_right()

    def test_a_job_step_on_one_node(self):
        # As from `srun -N 1 -n 1 --pty bash` within salloc.
        self.launcher = (*SALLOC, "srun", "--nodes=1", "--ntasks=1")
        self.run_thinpipe(*SHORT)
        self.assert_run_right()

    def test_a_hostfile_is_not_the_allocation(self):
        # Its names need not be those of nodes, and the agent starts the ranks there.
        self.hosts = ("--hosts", self.hostfile, "--agent", self.agent)
        self.run_thinpipe(*SHORT)
        self.assert_run_right("agent")

    def test_a_rank_that_ends(self):
        process = self.start(*LONG)
        self.wait_for_steps(process, "rate=1gbit")
        sshd.send(self.processes("thinpipe-worker")[0], signal.SIGKILL)
        self.finish(process, 4)
        (reason,) = self.reasons()
        self.assertRegex(reason, r"rank \d \(host host\d\) was killed by SIGKILL")
        self.assert_nothing_left()

    def test_scancel(self):
        process = self.start("--shape", DATA, "--link", "rate=5mbit", "--steps", "60", "--warmup",
                             "0", "-c", "none", "-c", "fp16")
        self.wait_for_steps(process, "rate=5mbit")
        self.assertEqual(self.qdiscs(), ["tbf 7e19:", "tbf 7e19:"])
        self.slurm("scancel", self.slurm("squeue", "--noheader", "--format=%i"))
        self.finish(process, 4)
        self.assertEqual(len(self.reasons()), 2)
        self.assert_nothing_left()

    def test_a_node_that_dies(self):
        process = self.start(*LONG)
        self.wait_for_steps(process, "rate=1gbit")
        network = on(HOSTS[1], "readlink", "/proc/self/ns/net")
        dead = [pid for pid, name, where in sshd.processes()
                if where == network and name != "test_hosts"]
        for pid in dead:
            sshd.send(pid, signal.SIGSTOP)  # SIGKILL would close connections, as no power cut does
        self.switch("down")
        try:
            self.finish(process, 4)
            (reason,) = self.reasons()
            self.assertIn(f"host {NODES[1]}", reason)
        finally:
            for pid in dead:
                sshd.send(pid, signal.SIGKILL)
            self.switch("up")
            self.start_slurmd(HOSTS[1])
        self.assert_nothing_left()
        self.wait_for_nodes()

    def switch(self, state):
        # The switch's port, since a host whose own interface is down cannot be told to set it up.
        subprocess.run([TEST_HOSTS, state, "ctl0.1"], check=True)


if __name__ == "__main__":
    reason = why_not()
    if reason is not None:
        print(reason)
        sys.exit(EXIT_SKIPPED)
    main()
