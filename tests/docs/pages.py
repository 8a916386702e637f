"""The pages of the documentation as the tests read them: fences, directives, headings, links.

A directive is an HTML comment on a line of its own, right before a fence (blank lines and other
directives may stand between):

    <!-- not run: needs two machines -->   the block is not run, for this reason
    <!-- needs: iperf3 curl -->            left out where one of these programs is not installed
    <!-- long -->                          run by docs.commands_long only: it takes its time
    <!-- with: trace -->                   the folder gets a trace `trace` before (see runner.py)
    <!-- before: mkdir grads -->           run before the block, without being shown
    <!-- output -->                        output of the sh block before
    <!-- exact -->                         no figure is masked: this output is the same everywhere
    <!-- any order -->                     lines may stand in another order
    <!-- wrapped -->                       sentences may be broken elsewhere: figures have other lengths
    <!-- varies: the winner -->            only words are looked at: they must be ones that thinpipe has
    <!-- exits: 2 -->                      exit code of a session's commands, or a block's last one
"""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTIVE = re.compile(r"^\s*<!-- (not run|needs|long|with|before|output|exact|any order|wrapped|varies|exits)"
                       r"(?:: (.*?))? -->\s*$")
FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
REASONED = {"not run", "needs", "with", "before", "varies", "exits"}  # those that need words after the colon


@dataclasses.dataclass
class Block:
    """A fenced block. `line` is that of its opening fence, from 1."""
    page: pathlib.Path
    line: int
    language: str
    body: list
    directives: dict  # name -> text; `before` and `with` -> list of texts

    @property
    def where(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_session(self):
        return self.language in ("", "console") and bool(self.body) and self.body[0].startswith("$ ")

    @property
    def is_output(self):
        return "output" in self.directives


def pages():
    """README and its like, and everything under docs/, in a fixed order."""
    return sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))


def blocks_of(page):
    lines = page.read_text(encoding="utf-8").split("\n")
    found, directives, number = [], {}, 0
    while number < len(lines):
        line = lines[number]
        directive, fence = DIRECTIVE.match(line), FENCE.match(line)
        if directive:
            name, text = directive[1], directive[2]
            if name in REASONED and not text:
                raise SystemExit(f"{page}:{number + 1}: '{name}' needs a reason or value")
            if name in ("before", "with"):
                directives.setdefault(name, []).append(text)
            else:
                directives[name] = text or ""
        elif fence:
            end = number + 1
            while lines[end].strip() != "```":
                end += 1
            indent = len(fence[1])
            found.append(Block(page, number + 1, fence[2],
                               [text[indent:] if text[:indent].isspace() else text
                                for text in lines[number + 1:end]], directives))
            directives, number = {}, end
        elif line.strip():
            if directives:
                raise SystemExit(f"{page}:{number + 1}: a directive stands before no block: {directives}")
        number += 1
    return found


def commands_in(lines):
    """The commands of a block's lines, each with the lines that belong to it (`\\` goes on)."""
    commands, here_document = [], None
    for line in lines:
        if commands and (here_document or commands[-1].endswith("\\")
                         or line.startswith((" ", "}", "done", "fi"))):
            commands[-1] += "\n" + line
            if here_document == line.strip():
                here_document = None
        elif line.strip():
            commands.append(line)
        opened = re.search(r"<<\s*'?(\w+)'?", line)
        if opened:
            here_document = opened[1]
    # A loop is one command.
    joined = []
    for command in commands:
        if joined and re.match(r"(for|while|if) ", joined[-1]) and \
                not re.search(r"(^|\n|; ?)(done|fi)\b", joined[-1]):
            joined[-1] += "\n" + command
        else:
            joined.append(command)
    return joined


def session_steps(block):
    """Pairs of a command and the lines that are shown as printed by it."""
    steps = []
    for line in block.body:
        if line.startswith("$ "):
            steps.append([line[2:], []])
        elif not steps[-1][1] and steps[-1][0].endswith("\\"):
            steps[-1][0] += "\n" + line
        else:
            steps[-1][1].append(line)
    return [tuple(step) for step in steps]


def commands_of(block):
    if block.is_session:
        return [command for command, _ in session_steps(block)]
    return commands_in(block.body) if block.language == "sh" else []


def prose(page):
    """The page's lines with their numbers, without fences."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        if FENCE.match(line) or line.strip() == "```":
            inside = not inside
        elif not inside:
            yield number, line


def spans(page):
    """(line, text) of every code span; one may go over the end of a line."""
    lines = list(prose(page))
    text = "\n".join(line for _, line in lines)
    for match in re.finditer(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)", text):
        yield lines[text[:match.start()].count("\n")][0], match[1].replace("\n", " ")


def anchors(page):
    """The anchors that GitHub gives a page's headings, and those of <a id>."""
    found, seen = set(), {}
    for _, line in prose(page):
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
        heading = re.match(r"#+ +(.*)", line)
        if not heading:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found
