#!/usr/bin/env python3
"""Words that are out do not come back, and sentences do not begin with a bare relative pronoun.

words_test.py ROOT: reads the sources, documents, recipes and help texts below ROOT. Fails on a word
of OUT, which docs/glossary.md has the field's term for, and where more than MOST of the sentences of
comments and documents begin with What, Who, Whose or Of and are no question.

words_test.py ROOT SEED: prints twenty random paragraphs, for a reader to say back.
"""
import os
import pathlib
import random
import re
import sys

OUT = {
    r"\btwins?\b": "GPU implementation, CPU implementation",
    r"\bslow[- ]motion\b": "time dilation",
    r"\bexchange patterns?\b": "collective",
    r"\bpatience\b": "timeout",
    r"\b(not )?told apart\b": "statistically indistinguishable",
    r"\bheld against\b": "compared with, checked against",
    r"\bway (up|down)\b": "uplink, downlink",
    r"\bway (there|back)\b": "forward, reverse",
    r"\bgiven back\b": "restored",
    r"\bdoubt(s|ed|ful)?\b": "warning; untrusted",
    r"\bheld back\b": "accumulated",
    r"\bburst credit\b": "token-bucket depth",
    r"\balterations?\b": "drift",
    r"\bas (they|it) lies?\b": "unchanged, in place",
    r"\bk(Most|Fewest|Least|Greatest)[A-Z]\w*": "kMax, kMin",
}
ALLOWED = [  # (path, text of a line)
    ("harness/commands/sweep_options.cc", '.old_name = "patience"'),
    ("tests/harness/options/arguments_test.cc", "patience"),
    ("tests/docs/options_test.py", "--patience"),
    ("tests/style/symbols_test.py", "Twin"),
]
MOST = 0.003
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".py", ".md", ".toml", ".expected", ".txt", ".cmake", ".sh"}
LEFT_OUT = ("build", ".git", "docs/results", "workloads/data", "tests/fuzz/corpus", "CHANGELOG.md",
            "tests/style/words_test.py", "docs/glossary.md")
BARE = re.compile(r"(What|Who|Whose|Whom|Of)\b")
LINE_COMMENT = re.compile(r"^\s*(?:#|//)[/<!]*\s?(.*)$")
TRAILING_COMMENT = re.compile(r"^.*?\S\s+//[/<!]*\s?(.*)$")


def files(root):
    """@returns [(path relative to root, text)]"""
    found = []
    for folder, folders, names in os.walk(root):
        # Other tests change the build folders meanwhile.
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = [one for one in folders if not (here / one).as_posix().startswith(LEFT_OUT)]
        for path in (here / one for one in names):
            if path.suffix in SUFFIXES and not path.as_posix().startswith(LEFT_OUT):
                text = (root / path).read_text(encoding="utf-8", errors="replace")
                found.append((path.as_posix(), text))
    return sorted(found)


def words_that_are_out(name, text):
    """@returns "file:line: word (say ...)", one a hit"""
    hits = []
    for number, line in enumerate(text.split("\n"), 1):
        if any(name == path and part in line for path, part in ALLOWED):
            continue
        for pattern, instead in OUT.items():
            flags = 0 if pattern.startswith(r"\bk") else re.IGNORECASE
            if (found := re.search(pattern, line, flags)):
                hits.append(f"{name}:{number}: '{found[0]}' (say: {instead})")
    return hits


def paragraphs(name, text):
    """@returns the paragraphs of a document's prose, or of a source's comments"""
    markdown, code, found, now = name.endswith(".md"), False, [], []
    for line in text.split("\n"):
        if markdown and line.startswith("```"):
            code = not code
        if markdown:
            words = "" if code or line.startswith(("#", "|", "<", "```")) else line.strip().lstrip("*- ")
        else:
            directive = line.lstrip().startswith("#") and not name.endswith(".py")
            comment = None if directive else LINE_COMMENT.match(line)
            words = comment[1].strip() if comment else ""
            if not comment and (trailing := TRAILING_COMMENT.match(line)):
                found.append(trailing[1])
        if words:
            now.append(words)
        elif now:
            found.append(" ".join(now))
            now = []
    return found + [" ".join(now)] * bool(now)


def sentences(paragraph):
    return [one for one in re.split(r"(?<=[.:;!?])\s+(?=[A-Z])", paragraph) if one]


def draw(root, seed):
    pool = [f"[{name}] {part}" for name, text in files(pathlib.Path(root))
            if name.endswith((".cc", ".h", ".cu", ".cuh", ".py", ".md"))
            for part in paragraphs(name, text) if len(part.split()) >= 20]
    print("\n\n".join(random.Random(int(seed)).sample(pool, 20)))
    return 0


def main(root):
    hits, bare, count = [], [], 0
    for name, text in files(pathlib.Path(root)):
        hits += words_that_are_out(name, text)
        if name.endswith((".cc", ".h", ".cu", ".cuh", ".py", ".md")):
            for sentence in (one for part in paragraphs(name, text) for one in sentences(part)):
                count += 1
                if BARE.match(sentence) and not sentence.rstrip().endswith("?"):
                    bare.append(f"{name}: {sentence[:100]}")
    print("\n".join(hits + (bare if len(bare) > MOST * count else [])))
    print(f"{len(hits)} words that are out; {len(bare)} of {count} sentences begin with a bare "
          f"pronoun, {100 * len(bare) / count:.2f} % (limit {100 * MOST} %)")
    assert count > 5000, "the sources were not found"
    return 1 if hits or len(bare) > MOST * count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else draw(*sys.argv[1:]))
