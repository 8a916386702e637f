#!/usr/bin/env python3
"""Files, folders and tests that README, docs and examples name exist.

A file is a code span that begins with a folder of the project (`netem/link/qdisc.h`, `netem/sandbox` for both
of its files, `tests/run`), a test is `Suite.Case` or `Suite.*`. Words in capitals stand for something.
"""
import re
import sys
import unittest

from pages import ROOT, pages, spans

FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"out", "build", ".git"}
STANDS_FOR_SOMETHING = re.compile(r"\b[A-Z]{3,}\b(?!\.md)|\byours\b")


def named():
    for page in pages():
        for line, text in spans(page):
            yield f"{page.relative_to(ROOT)}:{line}", text


class Names(unittest.TestCase):
    def test_files(self):
        wrong, count = [], 0
        for where, text in named():
            path = re.fullmatch(r"(?:\./)?((?:[\w.-]+/)+[\w.*-]*)", text)
            if not path or path[1].split("/")[0] not in FOLDERS or STANDS_FOR_SOMETHING.search(text):
                continue
            count += 1
            pattern = path[1].rstrip("/")
            if not any(ROOT.glob(pattern)) and not any(ROOT.glob(pattern + ".*")):
                wrong.append(f"{where}: {text}")
        self.assertGreater(count, 50)
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_tests(self):
        sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.cc"))
        known = {f"{suite}.{case}" for suite, case in re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", sources)}
        wrong, count = [], 0
        for where, text in named():
            for name in re.split(r"[, ]+", text):
                if not re.fullmatch(r"[A-Z]\w+\.([A-Z]\w*\*?|\*)", name) or name == "Suite.Case":
                    continue
                count += 1
                if name not in known and not (name.endswith("*") and
                                              any(test.startswith(name[:-1]) for test in known)):
                    wrong.append(f"{where}: {name}")
        self.assertGreater(count, 60)
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))


if __name__ == "__main__":
    sys.exit(unittest.main())
