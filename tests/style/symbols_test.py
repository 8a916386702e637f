#!/usr/bin/env python3
"""No two of our libraries define the same thing: the linker or the loader would silently take one
for both.

symbols_test.py FOLDER: looks into FOLDER/libthinpipe_*.so and .a with nm. Strong symbols of one
library no other may define at all, not even inline in a header. A class has all its members that
are not inline in one library, or two classes have one name.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
STRONG, WEAK = "TDBR", "WV"  # weak: what headers define inline
OURS = re.compile(r"(?:(?:vtable|typeinfo|guard variable) for )?thinpipe::")
MEMBER = re.compile(r"(thinpipe::(?:\w+::)*(\w+))::~?(\w+)(?:\[\w+:\w+\])?\(")


def definitions(library):
    """(name, whether strong) of each symbol that the library defines for others."""
    dynamic = ["-D"] if library.suffix == ".so" else ["-g"]
    told = subprocess.run(["nm", *dynamic, "-C", "--defined-only", library], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    for word in (line.split(maxsplit=2) for line in told.splitlines()):
        if len(word) == 3 and word[1] in STRONG + WEAK and OURS.match(word[2]):
            yield word[2], word[1] in STRONG


def complaints(libraries):
    strong, any_way = collections.defaultdict(set), collections.defaultdict(set)
    for library in libraries:
        for name, is_strong in definitions(library):
            any_way[name].add(library.name)
            if is_strong:
                strong[name].add(library.name)
    for name in sorted(strong):
        if len(any_way[name]) > 1:
            yield f"{name} is defined in {' and in '.join(sorted(any_way[name]))}"
    members = [(MEMBER.match(name), name) for name in any_way]
    classes = {m[1] for m, _ in members if m and m[2] == m[3]}  # they have constructors
    homes = collections.defaultdict(set)
    for m, name in members:
        if m and m[1] in classes:
            homes[m[1]] |= strong.get(name, set())
    for name, found in sorted(homes.items()):
        if len(found) > 1:
            yield f"class {name} has members in {' and in '.join(sorted(found))}"
    if not strong:
        yield "the libraries define nothing"


def check_that_it_can_fail():
    """Two libraries: every defect in them is found, and nothing else is reported."""
    sources = {
        "a": "struct Header { virtual ~Header() {} }; inline int fine() { static int x; return ++x; }"
             "namespace thinpipe { inline int same() { return 1; } struct Common { Common() {} };"
             "int uses() { Common c; return same() + fine(); }"
             "struct Twin { Twin(); int left(); }; Twin::Twin() {} int Twin::left() { return 1; } }",
        "b": "namespace thinpipe { int same() { return 2; } struct Common { Common() {} };"
             "int other() { Common c; return 3; }"
             "struct Twin { Twin(int); }; Twin::Twin(int) {} }"}
    with tempfile.TemporaryDirectory() as folder:
        libraries = []
        for name, text in sources.items():
            libraries.append(pathlib.Path(folder, f"libthinpipe_{name}.so"))
            subprocess.run(["c++", "-x", "c++", "-", "-shared", "-fPIC", "-o", libraries[-1]],
                           input=text, text=True, check=True)
        found = list(complaints(libraries))
    assert len(found) == 2 and "thinpipe::same()" in found[0] and "class thinpipe::Twin" in found[1], found


def main(folder):
    for tool in ("nm", "c++"):
        if not shutil.which(tool):
            print(f"no {tool} here (Debian: g++)")
            return SKIPPED
    check_that_it_can_fail()
    libraries = sorted(path for kind in ("so", "a")
                       for path in pathlib.Path(folder).glob(f"libthinpipe_*.{kind}"))
    if len(libraries) < 2:
        print(f"{folder} has no libraries to compare")
        return 1
    found = list(complaints(libraries))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
