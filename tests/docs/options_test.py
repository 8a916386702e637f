#!/usr/bin/env python3
"""options_test.py BIN: verbs and options in README, docs and examples exist.

Every `thinpipe VERB --option` that is shown, in a block or in the text, has a verb and options that
the command's own table has; a lone option is one of some verb or of ./check, ./demo, ./setup;
every verb is named somewhere. The table is read from `--help`.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

from pages import ROOT, blocks_of, commands_of, pages, spans

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])")
# Options of other programs that the text names alone, and their programs.
FOREIGN = {"--privileged": "docker", "--bind-to": "mpirun", "--mca": "mpirun",
           "--gtest_filter": "GoogleTest", "--patience": "thinpipe before --timeout"}
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "2>", "<", "2>&1", "--"}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def table():
    """verb -> options, as `--name` and `-x`, of the command; '' is the command itself."""
    listing = re.search(r"Commands:\n(.*?)\n\n", run(str(BIN / "thinpipe"), "--help"), re.DOTALL)[1]
    names = [""]
    for name, of_group in re.findall(r"(?m)^  ([a-z-]+)(?: ([a-z|]+))?(?:  |$)", listing):
        names += [f"{name} {second}" for second in of_group.split("|")] if of_group else [name]
    helps = {name: run(str(BIN / "thinpipe"), *name.split(), "--help") for name in names}
    return {name: {option for pair in re.findall(r"(?m)^  (?:(-\w), |    )(--[\w-]+)", text)
                   for option in pair if option} for name, text in helps.items()}


VERBS = table()
GROUPS = {verb.split()[0] for verb in VERBS if " " in verb}


def invocations(text):
    """The word lists that stand after `thinpipe` in a command line, each up to its end."""
    try:
        lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
    except ValueError:  # a quote in a sentence
        words = text.split()
    found = None
    for word in words:
        if found is None:
            if word == "thinpipe" or word.endswith("/thinpipe"):
                found = []
        elif word in ENDS or word.startswith((">", "<", "|", ";", "(", ")", "…")):
            yield found
            found = None
        else:
            found.append(word)
    if found is not None:
        yield found


def complaint(words):
    """The error in the words that follow `thinpipe`, or None."""
    if not words or words[0].startswith("-"):
        verb, rest = "", words
    elif words[0] in GROUPS:
        if len(words) < 2 or words[1].startswith("-"):
            return None if words[1:] in ([], ["--help"], ["-h"]) else f"'{words[0]}' needs a verb"
        verb, rest = " ".join(words[:2]), words[2:]
    else:
        verb, rest = words[0], words[1:]
    if verb.isupper():  # `thinpipe VERB --help`
        return None
    if verb not in VERBS:
        return f"no verb '{verb}'"
    for word in rest:
        option = re.match(r"(--[a-z][a-z0-9-]*|-[a-zA-Z]$)", word)
        if option and option[1] not in VERBS[verb] and option[1] not in FOREIGN:
            return f"'{verb}' has no option {option[1]}"
    return None


def sources():
    return pages() + sorted((ROOT / "examples").rglob("*.md"))


def shown():
    """(where, command) of each command line on the pages."""
    for page in sources():
        for block in blocks_of(page):
            for command in commands_of(block):
                yield block.where, command
        for line, text in spans(page):
            if re.match(r"(\S*/)?thinpipe ", text):
                yield f"{page.relative_to(ROOT)}:{line}", text
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".c", ".cc", ".txt", ".yml", ".sh"):
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                for text in re.findall(r"`(thinpipe [a-z][^`]*)`|^ *[$#*/]* *(thinpipe [a-z]+ -.*)", line):
                    yield f"{path.relative_to(ROOT)}:{number}", text[0] or text[1]


def scripts_options():
    """Those of the project's scripts, from their own help."""
    options = set()
    for name in ("check", "demo", "setup", "tests/kernel/in_guest.py"):
        options.update(OPTION.findall(run(str(ROOT / name), "--help")))
    return options


class Options(unittest.TestCase):
    def test_the_table_was_read(self):
        self.assertIn("--link", VERBS["run"])
        self.assertIn("-c", VERBS["run"])
        self.assertIn("--list", VERBS["reproduce"])
        self.assertEqual("'run' has no option --lnk", complaint(["run", "--lnk", "x"]))
        self.assertEqual("no verb 'walk'", complaint(["walk"]))
        self.assertEqual([["list", "models"], ["run", "-c", "a;b"]],
                         list(invocations("thinpipe list models | x; bin/thinpipe run -c 'a;b' && y")))

    def test_commands_shown(self):
        wrong, count = [], 0
        for where, command in shown():
            for words in invocations(command):
                count += 1
                text = complaint(words)
                if text:
                    wrong.append(f"{where}: {text}: {command}")
        self.assertGreater(count, 100)
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_options_by_themselves(self):
        known = set.union(*VERBS.values()) | scripts_options() | set(FOREIGN)
        wrong = []
        for page in sources():
            for line, text in spans(page):
                if not text.startswith("--"):
                    continue
                for option in OPTION.findall(re.sub(r"'[^']*'", "", text)):
                    if option not in known:
                        wrong.append(f"{page.relative_to(ROOT)}:{line}: no verb has {option}")
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_compressors_are_ones_that_there_are(self):
        """Specs such as `dgc:ratio=0.001`, and those of papers.md, are taken as they stand."""
        names = {method["name"] for method in json.loads(run(str(BIN / "thinpipe"), "list", "--json"))["compressors"]}
        specs = {}
        for page in pages():
            for line, text in spans(page):
                for word in re.split(r",\s+| ", text):
                    spec = re.fullmatch(r"([a-z0-9]+)(:[\w=.,/|()+-]*)?", word)
                    if spec and spec[1] in names and (spec[2] or page.name == "papers.md") and \
                            not re.search(r"=([a-zA-Zδτ]|\.\.\.|)(,|\)|$)", word):  # n stands for a number
                        specs.setdefault(word, f"{page.relative_to(ROOT)}:{line}")
        self.assertGreater(len(specs), 50)
        wrong = []
        for spec, where in specs.items():
            result = subprocess.run([BIN / "thinpipe", "quality", "--trace", "synthetic:elements=64,steps=1,workers=1",
                                     "-c", spec], capture_output=True, text=True, check=False)
            if result.returncode and "needs second moments" not in result.stderr:
                wrong.append(f"{where}: {spec}: {result.stderr.strip()}")
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_every_verb_is_documented(self):
        said = {" ".join(words[:2]) if words[:1] and words[0] in GROUPS else " ".join(words[:1])
                for _, command in shown() for words in invocations(command)}
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for verb in VERBS:
            if verb:
                self.assertIn(verb, said)
                self.assertIn(f"`{verb}`", readme, "README's table of commands lacks it")


if __name__ == "__main__":
    sys.exit(unittest.main())
