#!/usr/bin/env python3
"""completion_test.py BIN: completion offers the command's words; the manual page has them all.

Compared with `thinpipe --help`, which is made from the same table by other code, and against
`thinpipe list --json`.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

BIN = pathlib.Path(sys.argv.pop(1)).resolve()


def run(*words, **how):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, **how).stdout


def thinpipe(*words):
    return run(BIN / "thinpipe", *words)


def offered(*lines):
    """The words that bash offers for each command line, whose last word is being typed."""
    script = thinpipe("--completion", "bash")
    for words in lines:
        line = " ".join(words)
        script += (f"COMP_LINE={shlex.quote(line)}\nCOMP_POINT=${{#COMP_LINE}}\n"
                   '_thinpipe\necho "${COMPREPLY[*]}"\n')
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    return [line.split() for line in
            run("bash", "-u", "-c", script, env=environment).split("\n")[:-1]]


def verbs():
    """From the listing of `thinpipe --help`: 'trace info', 'run', ..."""
    section = re.search(r"Commands:\n(.*?)\n\n", thinpipe("--help"), re.DOTALL)[1]
    names = []
    for name, of_group in re.findall(r"(?m)^  ([a-z-]+)(?: ([a-z|]+))?(?:  |$)", section):
        names += [f"{name} {second}" for second in of_group.split("|")] if of_group else [name]
    return names


def options(verb):
    return re.findall(r"(?m)^  (?:-\w, |    )(--[\w-]+)", thinpipe(*verb.split(), "--help"))


class Completion(unittest.TestCase):
    def test_verbs(self):
        names = verbs()
        self.assertGreater(len(names), 25)
        first = list(dict.fromkeys(name.split()[0] for name in names))
        groups = sorted({name.split()[0] for name in names if " " in name})
        answers = offered(("thinpipe", ""), *(("thinpipe", group, "") for group in groups))
        self.assertEqual(set(first), set(answers[0]))
        for group, answer in zip(groups, answers[1:]):
            self.assertEqual({name.split()[1] for name in names if name.startswith(group + " ")}, set(answer))

    def test_options_of_every_verb(self):
        names = verbs()
        answers = offered(*(("thinpipe", *verb.split(), "--") for verb in names))
        for verb, answer in zip(names, answers):
            self.assertEqual(set(options(verb)), set(answer), verb)

    def test_values(self):
        listed = json.loads(thinpipe("list", "--json"))
        methods = {method["name"] for method in listed["compressors"]}
        models = {model["name"] for model in listed["models"]}
        self.assertGreater(len(methods), 30)
        cases = {
            ("run", "--compressor", ""): methods, ("bench", "-c", ""): methods, ("train", "-c", ""): methods,
            ("run", "--collective", ""): {one["name"] for one in listed["collectives"]},
            ("run", "-l", ""): {link["name"] for link in listed["links"]["presets"]}
                               if "presets" in listed["links"] else {link["name"] for link in listed["links"]},
            ("list", ""): methods | models | {"compressors", "collectives", "models", "links", "metrics"},
            ("run", "--overlap", ""): {"none", "bucket"},
            ("report", "--format", "h"): {"html"},
            ("run", "--topology", "r"): {"racks"},
        }
        answers = offered(*(("thinpipe", *words) for words in cases))
        for (words, expected), answer in zip(cases.items(), answers):
            self.assertEqual(expected, set(answer), words)
        trained = set(offered(("thinpipe", "capture", "--model", ""))[0])
        self.assertTrue({"lenet5", "charlstm", "resnet20"} <= trained <= models, trained)

    def test_specs(self):
        rules = "'conv*:none;fc*:topk:memory=none,ra"
        cases = {("run", "-c", "topk:ra"): ["ratio="],
                 ("run", "-c", "topk:memory=resi"): ["residual"],
                 ("run", "-c", rules): [rules[1:-2] + "ratio="],
                 ("bench", "--compressor=topk"): ["topk"],
                 ("run", "--collective", "hierarchical:g"): ["group="]}
        answers = offered(*(("thinpipe", *words) for words in cases))
        for (words, expected), answer in zip(cases.items(), answers):
            self.assertEqual(expected, answer, words)

    def test_folders(self):
        self.assertIn("/tmp", offered(("thinpipe", "run", "--out", "/tm"))[0])

    def test_other_shells_read_their_scripts(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=thinpipe("--completion", shell), text=True, check=True)


class Manual(unittest.TestCase):
    def test_it_has_every_verb_and_option(self):
        page = thinpipe("--man").replace("\\-", "-")
        for verb in verbs():
            section = page[page.index(f".SS thinpipe {verb}"):].split("\n.SS ")[0]
            section = section.split("\n.SH ")[0]
            for option in options(verb):
                if option != "--help":
                    self.assertRegex(section, rf"(?m)^\.B (-\w, )?{option}\b", verb)
            self.assertIn(".nf", section, f"{verb} has no example")
        for code in ("0", "1", "2", "3", "4", "5", "128 + signal"):
            self.assertIn(f".TP\n.B {code}\n", page)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_has_nothing_to_complain_about(self):
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=3"], input=thinpipe("--man"),
                                capture_output=True, text=True, check=True)
        self.assertEqual("", result.stderr)
        self.assertIn("SYNOPSIS", re.sub("\x1b\\[[0-9;]*m|.\b", "", result.stdout))

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_shows_it(self):
        result = subprocess.run(["man", "--warnings", "-l", "-"], input=thinpipe("--man"), capture_output=True,
                                text=True, check=True, env={"PATH": "/usr/bin:/bin", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
        self.assertEqual("", result.stderr)
        self.assertIn("EXIT STATUS", result.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
