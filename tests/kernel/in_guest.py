#!/usr/bin/env python3
"""Runs a command under a Linux kernel of its own, booted on this machine's files.

in_guest.py [options] [--] COMMAND...
in_guest.py --probe

The kernel is user-mode Linux, or, where that does not boot, Debian's own under QEMU, without KVM.
The guest sees the machine's files read-only, at the same paths, but has a /tmp, /run, /var/tmp and
/dev/shm of its own; it may write only to the machine's folders that --out names. It is root in
the guest, with modules for emulating links loaded, and has no network but lo.

Exits with the command's exit code; 77 when no such kernel boots here, with the reasons; 124 when
the time limit ended it; 125 when the guest ended without the command's exit code. However it
ends, no process is left. docs/kernel-tests.md has details. Standard library only.

THINPIPE_GUEST=uml or qemu boots that one alone. THINPIPE_UML names the program of user-mode Linux,
if not linux.uml in PATH.
"""
import argparse
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile
import time

from guest_kernels import KERNELS, NoKernel
from keeper import Keeper

WRONG_USE, NO_KERNEL, TIMED_OUT, NO_ANSWER = 2, 77, 124, 125
OWN_FOLDERS = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # the guest's, in its memory
POLL_SECONDS = 0.05
# After the command; user-mode Linux takes 0.1 s. Tests set a shorter time.
POWER_OFF_SECONDS = float(os.environ.get("THINPIPE_GUEST_SECONDS", 10))
LOG_LINES = 40  # of the kernel's messages, when something went wrong; --log keeps all
SIGN_OF_LIFE = "in_guest: init runs"  # on the console, init's first deed
# After a kernel has printed one of these messages, it does nothing more: user-mode Linux then
# spins, and only SIGKILL ends it.
PANIC = re.compile(r"Kernel panic.*|.*fatal_sigsegv.*")


def is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def shares_of(options, work):
    """(folder, whether it is writable) of each folder that the guest mounts beside its root: needed
    folders below its own ones, and folders that it may write to."""
    seen = [os.path.realpath(folder) for folder in options.visible]
    return [(folder, False) for folder in seen if any(is_below(folder, own) for own in OWN_FOLDERS)
            ] + [(os.path.realpath(out), True) for out in [*options.out, work]]


def init_script(kernel, options, shares, work):
    """The script of the guest's first process: sets it up, runs the command, leaves its code."""
    quote, busybox = shlex.quote, shlex.quote(kernel.busybox)
    lines = [f"#!{kernel.busybox} sh", f"echo {quote(SIGN_OF_LIFE)}", *kernel.first_lines(),
             f"{busybox} mount -t devpts devpts /dev/pts"]
    lines += [f"{busybox} mount -t tmpfs -o mode=1777 tmpfs {folder}" for folder in OWN_FOLDERS]
    for number, (folder, writable) in enumerate(shares):
        lines += [f"{busybox} mkdir -p {quote(folder)} 2>/dev/null",
                  kernel.mount(number, folder, writable)]
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


def boot(kernel, options, work):
    """Boots, forwards the command's output. @returns its exit code and the console's text.

    Raises NoKernel if the guest did not get as far as its init: the command has not run then."""
    shares = shares_of(options, work)
    for name in ("init", "output"):
        pathlib.Path(work, name).write_text("", encoding="utf-8")
    pathlib.Path(work, "init").write_text(init_script(kernel, options, shares, work),
                                          encoding="utf-8")
    os.chmod(work + "/init", 0o755)
    command = kernel.command(options.memory, shares, work)
    environment = dict(os.environ, **kernel.environment(options.memory, work))
    begin, said, code, reason = time.monotonic(), "", NO_ANSWER, None
    handed_back = None  # when the command's exit code was there
    with open(work + "/console", "wb") as console, open(work + "/output", "rb") as told, \
            open(work + "/console", encoding="utf-8", errors="replace") as messages:
        keeper = Keeper(kernel, command, console, environment, work)
        try:
            while reason is None:
                ended = keeper.has_ended()  # its last output is read after that
                sys.stdout.buffer.write(told.read())
                sys.stdout.buffer.flush()
                said += messages.read()
                seconds = time.monotonic() - begin
                panic = PANIC.search(said)
                if panic:
                    reason = panic[0].strip()
                elif ended:
                    reason = "it ended without an exit code"
                elif handed_back is None and pathlib.Path(work, "code").exists():
                    handed_back = seconds
                elif handed_back is not None and seconds - handed_back > POWER_OFF_SECONDS:
                    reason = f"it did not power off within {POWER_OFF_SECONDS:g} s"
                    print(f"in_guest: {kernel.name}: {reason}", file=sys.stderr)
                elif SIGN_OF_LIFE not in said and seconds > kernel.seconds_to_init:
                    reason = f"its init did not answer within {kernel.seconds_to_init:g} s"
                elif seconds > options.time_limit:
                    reason, code = f"not done after {options.time_limit:g} s", TIMED_OUT
                else:
                    time.sleep(POLL_SECONDS)
        finally:
            keeper.end()
    try:
        code = int(pathlib.Path(work + "/code").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        if SIGN_OF_LIFE not in said and code != TIMED_OUT:
            raise NoKernel(f"{kernel.name} does not boot: {reason}") from None
        print(f"in_guest: {kernel.name}: {reason}", file=sys.stderr)
    else:
        if options.verbose:
            print(f"in_guest: {kernel.name}, {time.monotonic() - begin:.1f} s from start to end, "
                  f"exit code {code}", file=sys.stderr)
    return code, said


def run_in(kernel, options):
    """As boot, in a folder that is gone afterwards. @returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="thinpipe-guest-") as work:
        code, said = boot(kernel, options, os.path.realpath(work))
    if options.log:
        pathlib.Path(options.log).write_text(said, encoding="utf-8")
    if code in (TIMED_OUT, NO_ANSWER):
        print("in_guest: the guest's last messages:", *said.splitlines()[-LOG_LINES:], sep="\n",
              file=sys.stderr)
    return code


def run_in_first(kernels, options):
    """Runs in the first kernel that boots. @returns the exit code, that kernel or None, and the
    reasons against the kernels before it."""
    reasons = []
    for make in kernels:
        try:
            kernel = make()
            return run_in(kernel, options), kernel, reasons
        except NoKernel as reason:
            reasons.append(str(reason))
    return NO_KERNEL, None, reasons


def probe(kernels, options):
    """Prints one line with the kernel that boots on this machine and why another does not."""
    code, kernel, reasons = run_in_first(kernels, options)
    if kernel is None:
        print("none: " + "; ".join(reasons))
        return NO_KERNEL
    line = kernel.name
    for make in kernels[len(reasons) + 1:]:
        try:
            line += f" ({make().name} is there too)"
        except NoKernel as reason:
            reasons.append(str(reason))
    print("; ".join([line, *reasons]))
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
    parser.add_argument("--probe", action="store_true",
                        help="boot, say in one line which kernel that was, and end")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if options.probe:
        options.command = ["true"]
    elif not options.command:
        parser.error("no command is given")
    return options


def main(arguments):
    options = parse_arguments(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(NO_ANSWER))  # by way of the clean-up
    chosen = os.environ.get("THINPIPE_GUEST", "")
    kernels = [kernel for kernel in KERNELS if chosen in ("", kernel.kind)]
    if not kernels:
        print(f"in_guest: THINPIPE_GUEST is '{chosen}', not uml or qemu", file=sys.stderr)
        return WRONG_USE
    if options.probe:
        return probe(kernels, options)
    code, kernel, reasons = run_in_first(kernels, options)
    if kernel is None:
        print("in_guest: no kernel to boot: " + "; ".join(reasons))
    elif reasons:
        print(f"in_guest: {kernel.name}, because: " + "; ".join(reasons), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
