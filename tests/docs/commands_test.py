#!/usr/bin/env python3
"""commands_test.py BIN quick|long [PAGE...]: pages' commands are run, and print what the pages show.

Every sh block and every session (`$ command` and its output) of README and docs is run, a page
in a folder of its own, in order, as somebody would who reads it; see pages.py for the directives.
`quick` leaves out the blocks marked long, and `long` runs the pages that have such blocks, whole.
With THINPIPE_UPDATE_DOCS=1 outputs that differ are put into the pages; read the diff. Outputs of
blocks that are not run, or that vary, are still checked against the words that thinpipe has.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import sys
import tempfile

from compare import complaint, unwrapped, words
from pages import ROOT, blocks_of, commands_of, pages, session_steps
from runner import installed, make_trace, prepare, run_page, words_of_sources

UPDATE = os.environ.get("THINPIPE_UPDATE_DOCS") == "1"
SECONDS = {"quick": 300, "long": 1500}  # for a page; at most half of the whole test's limit


def is_long(block):
    """Those that are marked, and those that train."""
    return "long" in block.directives or any(
        re.search(r"thinpipe (train|reproduce) (?!--list$|--help$)", command) for command in commands_of(block))


class Page:
    """A page's blocks, and the results of running them."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        self.blocks = blocks_of(path)
        self.wrong, self.edits, self.unused, self.busy = [], [], [], []
        self.count = 0

    def wants_to_run(self):
        if self.mode == "long" and not any(is_long(block) for block in self.blocks):
            return False
        return any(commands_of(block) and not self.why_not(block) for block in self.blocks)

    def why_not(self, block):
        if "not run" in block.directives:
            return block.directives["not run"]
        if self.mode == "quick" and is_long(block):
            return "long"
        needs = block.directives.get("needs", "")
        return f"needs {needs}" if needs and not installed(needs) else None

    def check_kinds(self):
        for index, block in enumerate(self.blocks):
            if block.language in ("", "console") and not block.is_session and not block.is_output and \
                    "not run" not in block.directives:
                self.wrong.append(f"{block.where}: neither a session nor marked <!-- output -->: say ```text")
            if block.is_output and (index == 0 or not commands_of(self.blocks[index - 1])):
                self.wrong.append(f"{block.where}: an output without a block of commands before it")

    def steps(self):
        """(command, block, index of the command in the block or None for hidden ones)"""
        for block in self.blocks:
            if not commands_of(block) or self.why_not(block):
                continue
            for name in block.directives.get("with", []):
                yield f"copy-fixture {name}", block, None
            for command in block.directives.get("before", []):
                yield command, block, None
            for index, command in enumerate(commands_of(block)):
                yield command, block, index

    def run(self, binaries, trace, strings):
        self.check_kinds()
        self.check_words(strings)
        if not self.wants_to_run():
            return self
        with tempfile.TemporaryDirectory(prefix="thinpipe-docs-") as name:
            folder = pathlib.Path(name).resolve()
            prepare(folder, binaries)
            steps = list(self.steps())
            commands = [f"rm -rf trace; cp -r {shlex.quote(str(trace))} trace"
                        if command == "copy-fixture trace" else command for command, _, _ in steps]
            results, rest = run_page(commands, folder, binaries, SECONDS[self.mode])
        printed = {}
        for (command, block, index), result in zip(steps, results):
            self.count += index is not None
            printed.setdefault(block.line, {})[index] = result
            self.check_exit(command, block, index, result)
        if len(results) < len(steps):
            command, block, _ = steps[len(results)]
            self.wrong.append(f"{block.where}: did not end in time: {command}\n{rest[-2000:]}")
        self.check_outputs(printed)
        return self

    def check_exit(self, command, block, index, result):
        commands = commands_of(block)
        wanted = 0
        if index is not None and (index == len(commands) - 1 or block.is_session):
            wanted = int(block.directives.get("exits", 0))
        if index is not None and index + 1 < len(commands) and commands[index + 1].strip() == "echo $?":
            return  # its exit code is shown
        if wanted == 0 and result.too_busy():
            result.spoilt = True
            self.busy.append(f"{block.where}: machine too busy ({result.too_busy()})")
        elif not result.good(wanted):
            self.wrong.append(f"{block.where}: exits with {result.code}, not {wanted}: {command}\n{result.output}")

    def check_outputs(self, printed):
        before = None
        for block in self.blocks:
            if block.is_output and before is not None and before.line in printed:
                results = printed[before.line]
                self.compare(block, block.body, block.line, list(results.values())[-1])
            elif block.is_session and block.line in printed:
                line = block.line
                for index, (command, shown) in enumerate(session_steps(block)):
                    line += command.count("\n") + 1
                    if index in printed[block.line]:
                        self.compare(block, shown, line, printed[block.line][index], command)
                    line += len(shown)
            if commands_of(block):
                before = block

    def compare(self, block, shown, line, result, command=""):
        if "varies" in block.directives or result.spoilt:
            return
        exact = "exact" in block.directives or command == "echo $?"
        change = unwrapped if "wrapped" in block.directives else list
        text = complaint(change(shown), change(result.lines), exact, "any order" in block.directives)
        if text:
            self.edits.append((line, len(shown), result.lines))
            if not UPDATE:
                self.wrong.append(f"{block.where}: printed something else {command}\n{text}")

    def check_words(self, strings):
        """Outputs that are not compared have only words that thinpipe can print."""
        before = None
        for block in self.blocks:
            source = block if block.is_session else before
            loose = {"not run", "varies", "long"} & (set(block.directives) | set(source.directives if source else ()))
            foreign = source and "needs" in source.directives  # another program's words are among them
            if (block.is_session or block.is_output) and loose and source and not foreign:
                shown = block.body if block.is_output else [
                    line for command, lines in session_steps(block)
                    if "thinpipe" in command for line in lines]
                own = words(commands_of(source)) | set(" ".join(commands_of(source)).replace("=", " ").split())
                strange = {word for word in words(shown) if word not in strings and word not in own}
                if strange:
                    self.wrong.append(f"{block.where}: thinpipe has no such words: {' '.join(sorted(strange))}")
            if commands_of(block):
                before = block

    def update(self):
        lines = self.path.read_text(encoding="utf-8").split("\n")
        for line, count, new in sorted(self.edits, reverse=True):
            lines[line:line + count] = new
        self.path.write_text("\n".join(lines), encoding="utf-8")


def main():
    binaries, mode = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    chosen = [(ROOT / name).resolve() for name in sys.argv[3:]]
    if not (binaries / "thinpipe-capture").exists():
        print("thinpipe-capture is not built: pages begin with a training")
        return 77
    strings = words_of_sources()
    all_pages = [Page(path, mode) for path in pages() if not chosen or path in chosen]
    with tempfile.TemporaryDirectory(prefix="thinpipe-docs-") as folder:
        trace = pathlib.Path(folder) / "trace"
        make_trace(binaries, trace)
        with concurrent.futures.ThreadPoolExecutor(max_workers=1 if mode == "long" else 3) as pool:
            done = list(pool.map(lambda page: page.run(binaries, trace, strings), all_pages))
    for page in done:
        if UPDATE and page.edits:
            page.update()
            print(f"{page.path.relative_to(ROOT)}: {len(page.edits)} outputs put in")
        for block in page.blocks:
            if commands_of(block) and page.why_not(block):
                print(f"not run: {block.where}: {page.why_not(block)}")
    wrong = [text for page in done for text in page.wrong]
    for text in wrong:
        print(text + "\n")
    print(f"{sum(page.count for page in done)} commands of {sum(page.count > 0 for page in done)} pages run, "
          f"{len(wrong)} complaints")
    busy = [text for page in done for text in page.busy]
    for text in busy:
        print(f"skipped: {text}")
    return 1 if wrong else 77 if busy else 0


if __name__ == "__main__":
    sys.exit(main())
