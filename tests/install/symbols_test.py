#!/usr/bin/env python3
"""No two of our libraries define the same thing: the loader would take one for both, unasked.

symbols_test.py FOLDER: looks into FOLDER/libthinpipe_*.so with nm.
"""
import collections
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
STRONG = "TDB"  # functions and data with one definition; what headers define inline is weak


def definitions(library):
    """Names that the library defines for others."""
    told = subprocess.run(["nm", "-DC", "--defined-only", library], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    words = (line.split(maxsplit=2) for line in told.splitlines())
    return {word[2] for word in words if len(word) == 3 and word[1] in STRONG}


def main(folder):
    if not shutil.which("nm"):
        print("no nm here (Debian: binutils)")
        return SKIPPED
    libraries = sorted(pathlib.Path(folder).glob("libthinpipe_*.so"))
    definers = collections.defaultdict(list)
    for library in libraries:
        for name in definitions(library):
            definers[name].append(library.name)
    if len(libraries) < 2 or not definers:
        print(f"{folder} has no libraries to compare")
        return 1
    twice = {name: found for name, found in definers.items() if len(found) > 1}
    for name, found in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(found)}")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
