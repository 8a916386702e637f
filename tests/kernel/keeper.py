"""A process between in_guest.py and the guest, which ends all that the guest started."""
import ctypes
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
RELEASED = b"."  # to a keeper from a process that removes its folder itself


def namespace_prefix():
    """Words before a command that make a PID namespace for it, or [] where none can be made.

    The kernel ends all processes of the namespace with its first, so no other process has to."""
    prefix = ["unshare", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        prefix += ["--user", "--map-root-user"]
    try:
        tried = subprocess.run(prefix + ["true"], stderr=subprocess.DEVNULL, check=False)
        return prefix if tried.returncode == 0 else []
    except OSError:
        return []


def descendants():
    """Returns the descendants of this process, in any order."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = pathlib.Path(f"/proc/{name}/stat").read_text(errors="replace")
        except OSError:
            continue  # ended meanwhile
        children.setdefault(int(fields.rpartition(")")[2].split()[1]), []).append(int(name))
    found = [os.getpid()]
    for process in found:
        found += children.get(process, [])
    return found[1:]


def end_descendants():
    """Ends the descendants of a subreaper, whose children's children become its own when those end.

    Each is signalled: one that waits for a CPU which its child does not release cannot end, and
    would not end its child."""
    while True:
        for process in descendants():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class Keeper:
    """Runs a command. Its descendants end when the command has ended, at end(), or when this
    process is gone for any reason; in the last case its folder is removed too."""

    def __init__(self, kernel, command, console, environment, work):
        read, self._leash = os.pipe()
        self._pid = os.fork()
        if self._pid != 0:
            os.close(read)
            return
        try:
            os.close(self._leash)
            os.setsid()  # signals to this process's group are not for the keeper
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
            guest = subprocess.Popen(  # pylint: disable=consider-using-with
                namespace_prefix() + command, stdin=subprocess.DEVNULL, stdout=console,
                stderr=console, env=environment, preexec_fn=kernel.prepare_process)
            select.select([read, os.pidfd_open(guest.pid)], [], [])
            end_descendants()
            # When a process is killed, the kernel closes its leash (a pipe end) first. Only later
            # can its children see that they have another parent, so getppid() would be too early.
            if select.select([read], [], [], 0)[0] and os.read(read, 1) != RELEASED:
                shutil.rmtree(work, ignore_errors=True)
        except BaseException:  # pylint: disable=broad-except
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)

    def has_ended(self):
        if self._pid and os.waitpid(self._pid, os.WNOHANG)[0]:
            self._pid = 0
        return not self._pid

    def end(self):
        try:
            os.write(self._leash, RELEASED)
        except BrokenPipeError:
            pass  # it has ended already
        os.close(self._leash)
        if self._pid:
            os.waitpid(self._pid, 0)
