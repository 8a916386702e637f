#!/usr/bin/env python3
"""Files of a folder are compiled together (thinpipe_unity): no two give one function name to
different things. The compiler refuses two definitions of the same signature by itself, but takes
another file's overload without a word where that fits better. Overloads whose first parameters are
of different classes of ours cannot be mistaken for each other.

unity_names_test.py ROOT: looks at the .cc files below ROOT's source folders, and names what is
defined without linkage in two files of one folder.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("base", "compressors", "netem", "reports", "workloads", "harness", "tests")
# A definition begins in the first column: a type, the name, an opening bracket.
FUNCTION = re.compile(r"^(?!TEST|return|using|namespace|template|static_assert|struct|class|#|//|})"
                      r"[A-Za-z_][\w:<>,&*\s\[\]]*[\s&*](?P<name>\w+)\((?P<first>[^,)]*)")
OUR_CLASS = re.compile(r"^(const )?(?P<name>[A-Z]\w+)&? \w+$")
MAIN = re.compile(r"^int main\(", re.MULTILINE)


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


def main(root):
    root = pathlib.Path(root)
    wrong, files = 0, 0
    for top in FOLDERS:
        for folder in sorted({path.parent for path in (root / top).rglob("*.cc")}):
            users = collections.defaultdict(list)
            for path in sorted(folder.glob("*.cc")):
                text = path.read_text(encoding="utf-8")
                if MAIN.search(text) or "HWY_TARGET_INCLUDE" in text or (
                        top == "tests" and not path.name.endswith("_test.cc")):
                    continue  # compiled alone
                files += 1
                for name, first in names_without_linkage(text):
                    users[name].append((path.name, first))
            for name, found in sorted(users.items()):
                definers = sorted({file for file, _ in found})
                classes = [first for _, first in found]
                if len(definers) == 1 or ("" not in classes and len(set(classes)) == len(classes)):
                    continue
                wrong += 1
                print(f"{folder.relative_to(root)}: {name}() is in {', '.join(definers)}: give each "
                      "a name of its own, or put it where all can include it")
    if not files:
        print(f"{root} has no sources")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
