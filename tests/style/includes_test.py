#!/usr/bin/env python3
"""Folders depend on each other in one direction only.

includes_test.py ROOT: reads every #include of the C++ files below ROOT. Fails on folders that reach
each other in a circle, and on an arrow between libraries (the first folder of a path) that the
line "Arrows:" of docs/map.md does not have.
"""
import collections
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ARROWS = re.compile(r"`(\w+) → \{?([\w, ]+)\}?`")
SOURCES = (".cc", ".h", ".cu", ".cuh")


def allowed_arrows(text):
    """@returns {(room, other)} from the paragraph of docs/map.md that begins with "Arrows:"."""
    paragraph = next(part for part in text.split("\n\n") if part.startswith("Arrows:"))
    return {(room, other) for room, others in ARROWS.findall(paragraph)
            for other in others.split(", ")}


def read_includes(root, rooms):
    """@returns {folder: {other folder: "file includes file", one example}}"""
    edges = collections.defaultdict(dict)
    for room in rooms:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            folder = path.parent.relative_to(root)
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                other = pathlib.Path(name).parent
                if other != folder and (root / name).is_file():
                    edges[folder].setdefault(other, f"{path.relative_to(root)} includes {name}")
    return edges


def find_circle(edges):
    """@returns folders a, b, ..., a that include each other in turn; empty if there are none."""
    finished = set()

    def follow(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        if folder in finished:
            return []
        for other in edges.get(folder, ()):
            circle = follow(other, way + [folder])
            if circle:
                return circle
        finished.add(folder)
        return []

    return next(filter(None, (follow(folder, []) for folder in list(edges))), [])


def main(root):
    root = pathlib.Path(root)
    allowed = allowed_arrows((root / "docs/map.md").read_text(encoding="utf-8"))
    rooms = sorted({room for arrow in allowed for room in arrow})
    edges = read_includes(root, rooms)
    wrong = 0
    for folder, others in sorted(edges.items()):
        for other, example in sorted(others.items()):
            arrow = folder.parts[0], other.parts[0]
            if arrow[0] != arrow[1] and arrow[1] in rooms and arrow not in allowed:
                wrong += 1
                print(f"docs/map.md has no arrow {arrow[0]} → {arrow[1]}: {example}")
    circle = find_circle(edges)
    for folder, other in zip(circle, circle[1:]):
        wrong += 1
        print(f"in a circle: {folder} → {other}: {edges[folder][other]}")
    return 1 if wrong or not edges else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
