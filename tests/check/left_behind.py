#!/usr/bin/env python3
"""Reports everything that a run of the tests left on the machine.

left_behind.py before FILE              writes the machine's state to FILE
left_behind.py after FILE BUILD MARK    prints every addition since then, one a line, and exits with
                                        1 if there is one. BUILD is the folder of the programs under
                                        test; MARK is a NAME=VALUE in the environment of every
                                        process of the tests

Checked are the folder for temporary files, /tmp, /var/tmp, /dev/shm, processes, named network
namespaces, network interfaces and mounts. Other programs use /tmp at the same time. Outside the
tests' own folder for temporary files, only names of thinpipe, its tests and Open MPI therefore
count. Of interfaces, only names that thinpipe and its tests give count. Standard library only.
"""
import json
import os
import pathlib
import re
import sys
import tempfile

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
OUR_NAMES = re.compile("thinpipe|ompi|openmpi|pmix|prte|vader|guest|gtest|torch")
# Interfaces of emulated networks (netem/network.cc, shaping.cc), of the probe of the kernel
# (netem/probe.cc) and of tests.
OUR_INTERFACES = re.compile(r"(thin|data|trunk|control|ctl|up|down|nic)\d+(\.\d+|-peer)?|[abi][01]")


def entries(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sorted({line.split()[4] for line in file})


def state():
    return {"own": entries(tempfile.gettempdir()),
            "shared": {folder: entries(folder) for folder in SHARED_FOLDERS},
            "namespaces": entries("/run/netns"),
            "interfaces": entries("/sys/class/net"),
            "mounts": mounts()}


def ancestors():
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        pid = int(text.rsplit(")", 1)[1].split()[1])
    return found


def processes(build, mark):
    """Yields the command lines of running processes of the tests."""
    spared = ancestors()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if pid in spared:
            continue
        folder = pathlib.Path(f"/proc/{pid}")
        try:
            command = (folder / "cmdline").read_bytes()
            marked = os.fsencode(mark) in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile, or another user's
        if command and (marked or os.fsencode(build) + b"/bin/" in command):
            yield f"{pid} {command.replace(bytes(1), b' ').decode(errors='replace').strip()}"


def added(before, now, build, mark):
    own = tempfile.gettempdir()
    for name in set(now["own"]) - set(before["own"]):
        yield f"file {own}/{name}"
    for folder in SHARED_FOLDERS:
        for name in set(now["shared"][folder]) - set(before["shared"][folder]):
            if OUR_NAMES.search(name) and os.path.join(folder, name) != own:
                yield f"file {folder}/{name}"
    for name in set(now["namespaces"]) - set(before["namespaces"]):
        yield f"namespace {name}"
    for name in set(now["interfaces"]) - set(before["interfaces"]):
        if OUR_INTERFACES.fullmatch(name):
            yield f"interface {name}"
    for point in set(now["mounts"]) - set(before["mounts"]):
        if OUR_NAMES.search(point):
            yield f"mount {point}"
    for process in processes(build, mark):
        yield f"process {process}"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "before":
        pathlib.Path(arguments[1]).write_text(json.dumps(state()), encoding="utf-8")
        return 0
    if len(arguments) != 4 or arguments[0] != "after":
        print(__doc__, file=sys.stderr)
        return 2
    _, file, build, mark = arguments
    before = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    lines = sorted(set(added(before, state(), build, mark)))
    for line in lines:
        print(f"left behind: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
