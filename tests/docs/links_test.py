#!/usr/bin/env python3
"""All relative links and anchors resolve, and every page is reached from docs/README.md."""
import re
import sys
import unittest

from pages import ROOT, anchors, pages, prose

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
IMAGE_SOURCE = re.compile(r'\b(?:src|srcset|href)="([^"]+)"')


def links(page):
    """(line, target) of every link within the project; code spans are no links."""
    text = [(number, re.sub(r"`[^`]*`", "`code`", line)) for number, line in prose(page)]
    joined = "\n".join(line for _, line in text)
    for match in list(LINK.finditer(joined)) + list(IMAGE_SOURCE.finditer(joined)):
        target = match[1]
        if not re.match(r"[a-z]+:", target):
            yield text[joined[:match.start()].count("\n")][0], target


def resolve(page, target):
    path, _, anchor = target.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


class Links(unittest.TestCase):
    def test_tables_have_their_second_line(self):
        wrong, count = [], 0
        for page in pages():
            lines = [(0, "")] + list(prose(page))
            for (before, above), (number, head), (_, below) in zip(lines, lines[1:], lines[2:]):
                begins = head.startswith("|") and not (above.startswith("|") and before == number - 1)
                count += begins
                if begins and below.startswith("|") and not re.fullmatch(r"\|[-: |]+\|", below):
                    wrong.append(f"{page.relative_to(ROOT)}:{number}: {head[:60]}")
        self.assertGreater(count, 50)
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_resolve(self):
        wrong, count = [], 0
        for page in pages():
            for line, target in links(page):
                count += 1
                path, anchor = resolve(page, target)
                where = f"{page.relative_to(ROOT)}:{line}: {target}"
                if not path.exists() or ROOT not in path.parents:
                    wrong.append(f"{where}: no such file")
                elif anchor and anchor not in anchors(path):
                    wrong.append(f"{where}: no such heading")
        self.assertGreater(count, 100)
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_every_page_is_reached(self):
        start = ROOT / "docs" / "README.md"
        reached, left = {start}, [start]
        while left:
            page = left.pop()
            for _, target in links(page):
                path, _ = resolve(page, target)
                if path.suffix == ".md" and path.exists() and path not in reached:
                    reached.add(path)
                    left.append(path)
        lost = [str(page.relative_to(ROOT)) for page in pages()
                if page not in reached and page.parent != ROOT]
        self.assertEqual([], lost)

    def test_every_page_is_in_the_index(self):
        listed = {resolve(ROOT / "docs" / "README.md", target)[0]
                  for _, target in links(ROOT / "docs" / "README.md")}
        lost = [page.name for page in pages() if page.parent == ROOT / "docs"
                and page.name != "README.md" and page not in listed]
        self.assertEqual([], lost)


if __name__ == "__main__":
    sys.exit(unittest.main())
