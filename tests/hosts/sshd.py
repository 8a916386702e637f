"""Real sshd on the test hosts: keys, configurations and processes. Standard library only."""
import os
import shutil
import signal
import subprocess
import time

SSHD = "/usr/sbin/sshd"
# The user's ssh must not ask an agent, nor open a window, of whoever runs the tests.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("SSH_AUTH_SOCK", "SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY")}


def why_not():
    """Returns the reason why sshd cannot run here; None if it can."""
    for program in (SSHD, "ssh", "ssh-keygen", "mount", "umount"):
        if not shutil.which(program):
            return f"no {program}; ./setup --full installs it (Debian: openssh-server)"
    return why_no_daemons()


def why_no_daemons():
    """Returns the reason why daemons that change their groups, as sshd does, cannot run here."""
    # In the user namespace of an ordinary user nobody may.
    with open("/proc/self/setgroups") as file:
        if os.geteuid() != 0 or file.read().strip() != "allow":
            return "only root can run sshd and slurmd in namespaces"
    return None


def write(path, *lines, mode=0o600):
    """Writes a file. ssh refuses files that others may change."""
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)
    os.chmod(path, mode)


def make_key(path):
    """Makes an ed25519 key pair at `path` and `path`.pub. Returns the public key's two words."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    with open(path + ".pub") as file:
        return " ".join(file.read().split()[:2])


def write_users(path, home):
    """Writes a copy of /etc/passwd in which root has this home, and bash as login shell."""
    users = []
    with open("/etc/passwd") as file:
        for line in file.read().splitlines():
            fields = line.split(":")
            if fields[0] == "root":
                fields[5:7] = [home, "/bin/bash"]
            users.append(":".join(fields))
    write(path, *users, mode=0o644)


def processes():
    """Yields (process id, command name, network namespace) of all processes but zombies."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            network = os.readlink(f"/proc/{pid}/ns/net")  # a zombie has none
            with open(f"/proc/{pid}/comm") as file:
                yield int(pid), file.read().rstrip("\n"), network
        except OSError:
            continue


class Server:
    """The sshd of one test host.

    `on(host, *words)` runs a command on the host without ssh. `folder` is seen by all hosts, and
    holds `authorized_keys`. `home` is root's home on the host.
    """

    def __init__(self, host, folder, home, on):
        self.host, self.on = host, on
        self.folder = os.path.join(folder, "sshd-" + host)
        os.mkdir(self.folder)
        self.key = make_key(self.path("host_key"))
        self.settings = (
            "Port 22",
            f"ListenAddress {host}",
            f"HostKey {self.path('host_key')}",
            f"PidFile {self.path('pid')}",
            f"AuthorizedKeysFile {folder}/authorized_keys",
            "StrictModes no",  # /var/tmp, where all is, is a folder that everybody writes to
            "PermitRootLogin yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no")
        # The account database of this host alone: a home of its own, and an account that is not
        # locked. With a locked one (`!` in the place of the password) sshd takes no key either.
        write_users(self.path("passwd"), home)
        write(self.path("shadow"), "root:*:19000:0:99999:7:::")
        self.do("mount", "--bind", self.path("passwd"), "/etc/passwd")
        self.do("mount", "--bind", self.path("shadow"), "/etc/shadow")
        self.do("mkdir", "-p", "/run/sshd")
        self.network = on(host, "readlink", "/proc/self/ns/net")

    def do(self, *words):
        """Runs a command that prints nothing if it succeeds."""
        told = self.on(self.host, *words)
        if told:
            raise AssertionError(f"{self.host}: {' '.join(words)}: {told}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *settings, prefix=()):
        """Starts sshd anew. `settings` go before the usual ones: sshd takes the first value."""
        self.stop()
        write(self.path("config"), *settings, *self.settings)
        told = self.on(self.host, *prefix, SSHD, "-f", self.path("config"), "-E", self.path("log"))
        deadline = time.monotonic() + 20
        while self.listener() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"sshd did not start: {told}\n{self.log()}")
            time.sleep(0.02)

    def listener(self):
        """Returns the process id of the server; None if there is none."""
        try:
            with open(self.path("pid")) as file:
                text = file.read().strip()
        except FileNotFoundError:
            return None
        return int(text) if text else None

    def log(self):
        if not os.path.exists(self.path("log")):
            return "no log"
        with open(self.path("log")) as file:
            return file.read()[-3000:]

    def running(self):
        """Returns {process id: name} on the host, without the stand-in server of test_hosts."""
        return {pid: name for pid, name, network in processes()
                if network == self.network and name != "test_hosts"}

    def logins(self):
        """Returns {process id: name} of the host's processes of sshd that serve a login."""
        listener = self.listener()
        return {pid: name for pid, name in self.running().items()
                if name.startswith("sshd") and pid != listener}

    def stop(self):
        """Kills the server together with all logins, as a crash would."""
        while True:
            found = [pid for pid, name in self.running().items() if name.startswith("sshd")]
            if not found:
                break
            for pid in found:
                send(pid, signal.SIGKILL)
            time.sleep(0.02)
        if os.path.exists(self.path("pid")):
            os.remove(self.path("pid"))


def send(pid, number):
    """Sends a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
