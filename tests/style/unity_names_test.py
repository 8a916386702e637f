#!/usr/bin/env python3
"""Files of a target are compiled together (thinpipe_unity): no two give one function name to
different things. The compiler itself refuses two definitions of the same signature, but takes
another file's overload without a word where that fits better. Overloads whose first parameters are
of different classes of ours cannot be mistaken for each other.

unity_names_test.py BUILD: looks at the files that the targets of BUILD compile together, and names
functions that are defined without linkage in two files of one target.
"""
import collections
import json
import pathlib
import re
import sys

UNIT = re.compile(r"CMakeFiles/(?P<target>[^/]+)\.dir/Unity/unity_")
MEMBER = re.compile(r'^#include "(.*)"$', re.MULTILINE)
# A definition begins in the first column: a type, the name, an opening bracket.
FUNCTION = re.compile(r"^(?!TEST|return|using|namespace|template|static_assert|struct|class|#|//|})"
                      r"[A-Za-z_][\w:<>,&*\s\[\]]*[\s&*](?P<name>\w+)\((?P<first>[^,)]*)")
OUR_CLASS = re.compile(r"^(const )?(?P<name>[A-Z]\w+)&? \w+$")


def names_without_linkage(text):
    """Functions that an unnamed namespace of the file defines, each with its first parameter's class
    if that is one of ours."""
    depth, found = 0, set()
    for line in text.splitlines():
        if line.startswith("namespace {"):
            depth += 1
        elif line.startswith("}  // namespace") and line.strip() == "}  // namespace":
            depth = max(0, depth - 1)
        elif depth:
            match = FUNCTION.match(line)
            if match and "::" + match["name"] not in line:
                ours = OUR_CLASS.match(match["first"])
                found.add((match["name"], ours["name"] if ours else ""))
    return found


def members_of_targets(build):
    """@returns {target: its files that are compiled together}"""
    targets = collections.defaultdict(list)
    for unit in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if (found := UNIT.search(unit["file"])):
            text = pathlib.Path(unit["file"]).read_text(encoding="utf-8")
            targets[found["target"]] += map(pathlib.Path, MEMBER.findall(text))
    return targets


def main(build):
    targets = members_of_targets(pathlib.Path(build))
    if not targets:
        print(f"{build} compiles no files together")
        return 1
    wrong = 0
    for target, members in sorted(targets.items()):
        users = collections.defaultdict(list)
        for path in members:
            for name, first in names_without_linkage(path.read_text(encoding="utf-8")):
                users[name].append((path, first))
        for name, found in sorted(users.items()):
            definers = sorted({str(file) for file, _ in found})
            classes = [first for _, first in found]
            if len(definers) == 1 or ("" not in classes and len(set(classes)) == len(classes)):
                continue
            wrong += 1
            print(f"{target}: {name}() is in {', '.join(definers)}: give each a name of its own, or put "
                  "it where all can include it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
