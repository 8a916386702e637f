#!/usr/bin/env python3
"""Runs a command under a Linux kernel of its own: user-mode-linux, booted on this machine's files.

in_guest.py [options] [--] COMMAND...

The guest sees the machine's files read-only, at the same paths, but has a /tmp, /run, /var/tmp and
/dev/shm of its own; what it may write on the machine are the folders named by --out. It is root
there, with modules for emulating links loaded, and has no network but lo.

Exits with the command's exit code; 77 when there is no such kernel here, with the reason; 124 when
the time limit ended it; 125 when the guest ended without saying how the command did. However it
ends, no process is left. docs/kernel-tests.md says more. Standard library only.

THINPIPE_UML names the kernel to boot, if not linux.uml in PATH.
"""
import argparse
import ctypes
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NO_KERNEL, TIMED_OUT, NO_ANSWER = 77, 124, 125
MODULE_FOLDER = pathlib.Path("/usr/lib/uml/modules")
MODULES = ("veth", "bridge", "ifb", "sch_tbf", "sch_htb", "sch_netem", "sch_ingress", "sch_prio",
           "sch_fq_codel", "cls_u32", "cls_matchall", "act_mirred", "tcp_bbr")
OWN_FOLDERS = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # the guest's, in its memory
POLL_SECONDS = 0.05
LOG_LINES = 40  # of the kernel's messages, when something went wrong; --log keeps all
PR_SET_PDEATHSIG = 1  # linux/prctl.h
GUEST_PRIORITY = 10  # of 1 to 99: before all ordinary programs


class NoKernel(Exception):
    """There is no guest kernel on this machine; the text says what is missing."""


def find_program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise NoKernel(f"no {name} in PATH (Debian: user-mode-linux, busybox-static)")
    return found


def module_files(release):
    """The files of MODULES in an order in which they can be loaded."""
    folder = MODULE_FOLDER / release
    try:
        lines = (folder / "modules.dep").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NoKernel(f"{error.filename}: {error.strerror} (Debian: user-mode-linux)") from error
    needs = dict(line.split(":", 1) for line in lines)
    by_name = {pathlib.PurePath(path).stem.replace("-", "_"): path for path in needs}
    files = []
    for name in MODULES:
        if name not in by_name:
            raise NoKernel(f"the kernel in {folder} has no module {name}")
        path = by_name[name]
        # modules.dep names what must be there before, the innermost last.
        for one in [*reversed(needs[path].split()), path]:
            if one not in files:
                files.append(one)
    return [str(folder / one) for one in files]


class Kernel:
    """What a boot needs. Raises NoKernel."""

    def __init__(self):
        self.program = find_program(os.environ.get("THINPIPE_UML", "linux.uml"))
        self.busybox = find_program("busybox")
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True,
                                 check=False)
        self.release = version.stdout.strip()
        if version.returncode != 0 or not self.release:
            raise NoKernel(f"{self.program} does not start: {version.stderr.strip()}")
        self.modules = module_files(self.release)


def is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def init_script(kernel, options, work):
    """What the guest's first process runs: sets the guest up, runs the command, leaves its code."""
    quote, busybox = shlex.quote, shlex.quote(kernel.busybox)
    lines = [f"#!{kernel.busybox} sh",
             f"{busybox} mount -t proc proc /proc",
             f"{busybox} mount -t sysfs sysfs /sys",
             f"{busybox} mkdir -p /dev/shm /dev/pts",
             f"{busybox} mount -t devpts devpts /dev/pts"]
    lines += [f"{busybox} mount -t tmpfs -o mode=1777 tmpfs {folder}" for folder in OWN_FOLDERS]
    # What lies below those folders and is needed all the same, and what may be written.
    for folder, way in [(os.path.realpath(seen), "-r") for seen in options.visible] + [
            (os.path.realpath(out), "-w") for out in [*options.out, work]]:
        if way == "-w" or any(is_below(folder, own) for own in OWN_FOLDERS):
            lines += [f"{busybox} mkdir -p {quote(folder)} 2>/dev/null",
                      f"{busybox} mount {way} -t hostfs -o {quote(folder)} hostfs {quote(folder)}"]
    lines += [f"{busybox} insmod {quote(file)}" for file in kernel.modules]
    lines += [f"{busybox} hostname guest",
              f"{busybox} ip link set lo up",
              "export HOME=/tmp TMPDIR=/tmp LC_ALL=C.UTF-8",
              "export PATH=" + quote(os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin")]
    for word in options.env:
        name, equals, value = word.partition("=")
        lines.append(f"export {name}={quote(value if equals else os.environ.get(name, ''))}")
    lines += [f"cd {quote(os.getcwd())}",
              f"{shlex.join(options.command)} < /dev/null > {quote(work)}/output 2>&1",
              f"echo $? > {quote(work)}/code",
              f"{busybox} poweroff -f"]
    return "\n".join(lines) + "\n"


def holder():
    """A command prefix under which everything the guest starts ends with its first process, or []
    where namespaces are not to be had; a process group is all there is then."""
    prefix = ["unshare", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        prefix += ["--user", "--map-root-user"]
    try:
        tried = subprocess.run(prefix + ["true"], stderr=subprocess.DEVNULL, check=False)
        return prefix if tried.returncode == 0 else []
    except OSError:
        return []


def memory_folder(mebibytes, work):
    """Where the guest's memory is a file, already unlinked: in memory if there is room, else on disk."""
    try:
        shm = os.statvfs("/dev/shm")
        if not shm.f_flag & os.ST_NOEXEC and shm.f_bavail * shm.f_frsize >= mebibytes << 20:
            return "/dev/shm"
    except OSError:
        pass
    return work


def prepare_process():
    """In the child, before the guest starts."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # A guest whose timers wait for other programs' time slices has links that stall. Ahead of them
    # on one core (the guest has no more) it keeps time on a busy machine too. Needs root.
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(GUEST_PRIORITY))
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    except PermissionError:
        pass


def boot(kernel, options, work):
    """Boots, forwards what the command prints, returns its exit code."""
    init, output = work + "/init", work + "/output"
    pathlib.Path(init).write_text(init_script(kernel, options, work), encoding="utf-8")
    os.chmod(init, 0o755)
    pathlib.Path(output).touch()
    command = holder() + [kernel.program, f"mem={options.memory}M", "rootfstype=hostfs",
                          "rootflags=/", "ro", f"init={init}", f"uml_dir={work}", "umid=guest",
                          "con=null", "con0=null,fd:1", "ssl=null"]
    begin = time.monotonic()
    with open(work + "/console", "wb") as console, open(output, "rb") as told:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console,
                                   stderr=console, start_new_session=True,
                                   env=dict(os.environ,
                                            TMPDIR=memory_folder(options.memory, work)),
                                   preexec_fn=prepare_process)
        ended = False
        try:
            while not ended:
                ended = process.poll() is not None  # once more after that: the last of the output
                sys.stdout.buffer.write(told.read())
                sys.stdout.buffer.flush()
                if time.monotonic() - begin > options.time_limit:
                    print(f"in_guest: not done after {options.time_limit:g} s", file=sys.stderr)
                    return TIMED_OUT
                time.sleep(0 if ended else POLL_SECONDS)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    try:
        code = int(pathlib.Path(work + "/code").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        print("in_guest: the guest ended without an exit code", file=sys.stderr)
        return NO_ANSWER
    if options.verbose:
        print(f"in_guest: Linux {kernel.release}, {time.monotonic() - begin:.1f} s from start to "
              f"end, exit code {code}", file=sys.stderr)
    return code


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB",
                        help="of the guest (1024)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]",
                        help="set in the guest; without a value, as it is here")
    parser.add_argument("--out", action="append", default=[], metavar="FOLDER",
                        help="the guest may write there")
    parser.add_argument("--visible", action="append", metavar="FOLDER", default=[os.getcwd()],
                        help="needed by the command, if below one of the guest's own folders")
    parser.add_argument("--log", metavar="FILE", help="keep the kernel's messages there")
    parser.add_argument("--verbose", action="store_true", help="say which kernel and how long")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command:
        parser.error("no command is given")
    return options


def main(arguments):
    options = parse_arguments(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(NO_ANSWER))  # by way of the clean-up
    try:
        kernel = Kernel()
    except NoKernel as reason:
        print(f"in_guest: no kernel to boot: {reason}")
        return NO_KERNEL
    with tempfile.TemporaryDirectory(prefix="thinpipe-guest-") as work:
        code = boot(kernel, options, os.path.realpath(work))
        console = pathlib.Path(work + "/console").read_text(encoding="utf-8", errors="replace")
    if options.log:
        pathlib.Path(options.log).write_text(console, encoding="utf-8")
    if code in (TIMED_OUT, NO_ANSWER):
        print("in_guest: the guest's last messages:", *console.splitlines()[-LOG_LINES:], sep="\n",
              file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
